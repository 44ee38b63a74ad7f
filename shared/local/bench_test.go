package local_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"companyos/shared/task"
	"companyos/shared/wire"
)

// BenchmarkStartToAgent measures from POST …/runs to the agent's first instruction, beside the bare git commands of the
// same checkout, in turn. The difference of the medians is what a Company on this machine adds; its limit is 150 ms.
//
//	go test -run '^$' -bench StartToAgent -benchtime 15x ./shared/local
func BenchmarkStartToAgent(b *testing.B) {
	shared := b.TempDir()
	for dir := shared; dir != "/" && dir != os.TempDir(); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o777); err != nil {
			b.Fatal(err)
		}
	}
	p := newProgram(b, `{turns: [{steps: [{run: [date, "+%s%N"]}, {answer_output: true}]}]}`)
	var whole, bare []time.Duration
	for b.Loop() {
		accepted := p.accepted()
		began := time.Now()
		if _, err := p.client.StartRun(b.Context(), accepted.ID, wire.TaskRunCreate{Attempt: 1}); err != nil {
			b.Fatal(err)
		}
		ended := p.settled(accepted.ID)
		if ended.Result.Status != task.ResultCompleted {
			b.Fatal(ended.Result)
		}
		stamp, err := strconv.ParseInt(strings.TrimSpace(ended.Result.Content), 10, 64)
		if err != nil {
			b.Fatal(err)
		}
		whole = append(whole, time.Unix(0, stamp).Sub(began))
		bare = append(bare, checkout(b, p.repo.URL))
	}
	b.ReportMetric(milliseconds(median(whole)), "ms/start")
	b.ReportMetric(milliseconds(median(bare)), "ms/checkout")
	b.ReportMetric(milliseconds(median(whole)-median(bare)), "ms/overhead")
}

func checkout(b *testing.B, url string) time.Duration {
	b.Helper()
	dir := b.TempDir()
	began := time.Now()
	for _, args := range [][]string{
		{"init", "-q"}, {"ls-remote", url, "refs/heads/main"}, {"fetch", "-q", "--depth=1", url, "main"}, {"checkout", "-q", "FETCH_HEAD"},
	} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
	}
	return time.Since(began)
}

func median(d []time.Duration) time.Duration { return slices.Sorted(slices.Values(d))[len(d)/2] }

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
