// Package cookbooktest runs an example as a user does and compares what it prints.
package cookbooktest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var unstable = []struct {
	re *regexp.Regexp
	to string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "<id>"},
	{regexp.MustCompile(`\b[0-9a-f]{40}\b`), "<commit>"},
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "<host>"},
}

// Run builds the example in this test's folder, runs it and compares its output with expected.txt, where ids, commits
// and ports are replaced by what they are.
func Run(t *testing.T) {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "example")
	if out, err := exec.Command("go", "build", "-o", bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	if err := os.Chmod(filepath.Dir(bin), 0o755); err != nil { // another user runs the supervisor's fixture
		t.Fatal(err)
	}
	var errs strings.Builder
	cmd := exec.CommandContext(t.Context(), bin)
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s%s", err, out, errs.String())
	}
	got := string(out)
	for _, u := range unstable {
		got = u.re.ReplaceAllString(got, u.to)
	}
	want, err := os.ReadFile("expected.txt")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); d != "" {
		t.Errorf("the output differs (-want +got):\n%s", d)
	}
}
