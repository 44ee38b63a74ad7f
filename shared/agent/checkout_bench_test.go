package agent

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"companyos/shared/agent/gittest"
)

// BenchmarkCheckout is the pinned checkout beside the same by hand: git init, git fetch --depth=1 of the commit, git checkout.
func BenchmarkCheckout(b *testing.B) {
	s := setup(b)
	files := map[string]gittest.File{}
	for i := range 500 {
		files[fmt.Sprintf("dir%d/file%d.txt", i%25, i)] = gittest.File{Content: strings.Repeat(fmt.Sprintf("line %d\n", i), 400)}
	}
	tip := s.commit(b, gittest.Commit{Message: "many", Files: files})
	var ours, raw []time.Duration
	for n := 0; b.Loop(); n++ {
		dir := filepath.Join(filepath.Dir(s.layout.base), fmt.Sprint(n))
		if err := os.Mkdir(dir, 0o755); err != nil { //nolint:gosec // the agent's user passes through
			b.Fatal(err)
		}
		c := s.checkout(func(c *checkout) {
			c.commit, c.base, c.workspace, c.maxBytes, c.patience = tip, filepath.Join(dir, "base.git"), filepath.Join(dir, "workspace"), 1<<30, time.Minute
		})
		begun := time.Now()
		if _, _, err := c.run(b.Context()); err != nil {
			b.Fatal(err)
		}
		ours = append(ours, time.Since(begun))

		byHand := filepath.Join(dir, "raw")
		begun = time.Now()
		for _, args := range [][]string{{"init", "-q", byHand}, {"-C", byHand, "fetch", "-q", "--depth=1", s.repository.URL, tip}, {"-C", byHand, "checkout", "-q", tip}} {
			cmd := exec.CommandContext(b.Context(), "git", args...)
			cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1"}
			if out, err := cmd.CombinedOutput(); err != nil {
				b.Fatalf("%v: %s", err, out)
			}
		}
		raw = append(raw, time.Since(begun))
	}
	slices.Sort(ours)
	slices.Sort(raw)
	mine, git := ours[len(ours)/2], raw[len(raw)/2]
	b.ReportMetric(float64(mine.Microseconds())/1000, "checkout-ms")
	b.ReportMetric(float64(git.Microseconds())/1000, "git-ms")
	b.ReportMetric(mine.Seconds()/git.Seconds(), "ratio")
}
