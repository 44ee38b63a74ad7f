package local_test

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestRefusesInOneSentence starts the program where it cannot work: it ends with one line that says what to do.
func TestRefusesInOneSentence(t *testing.T) {
	t.Parallel()
	bin, err := build()
	if err != nil {
		t.Fatal(err)
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { taken.Close() })
	for name, c := range map[string]struct {
		args []string
		env  []string
		want string
	}{
		"a taken port":               {args: []string{"-addr", taken.Addr().String()}, want: "choose another address with -addr or COMPANY_ADDR"},
		"a data folder that is none": {args: []string{"-data", "/dev/null"}, want: "choose another one with -data or COMPANY_DATA"},
		"a data folder out of reach": {args: []string{"-data", "/proc/company"}, want: "choose another one with -data or COMPANY_DATA"},
		"no git":                     {env: []string{"PATH=/nonexistent"}, want: "install git"},
		"no network for PostgreSQL": {
			env:  []string{"HTTP_PROXY=http://127.0.0.1:1", "HTTPS_PROXY=http://127.0.0.1:1"},
			want: "connect to the network for the first start or set COMPANY_DATABASE_URL",
		},
		"no such executors":      {args: []string{"-executors", "none.yaml"}, want: "name another file with -executors or COMPANY_EXECUTORS"},
		"an unknown setting":     {args: []string{"-port", "80"}, want: "-h lists every setting"},
		"an issuer that is none": {args: []string{"-jwt-issuer", "company"}, want: "no https URL"},
		"no folder of Sources":   {args: []string{"-sources", "/dev/null"}, want: "is no folder"},
		"roles that are none":    {args: []string{"-roles", "alice"}, want: "admin_group"},
		"a word too many":        {args: []string{"start"}, want: `"start" is no setting`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, bin, append([]string{"-addr", "127.0.0.1:0", "-data", filepath.Join(home, "data")}, c.args...)...)
			cmd.Dir = home
			cmd.Env = append([]string{"HOME=" + home, "TMPDIR=" + home, "PATH=" + os.Getenv("PATH")}, c.env...)
			var told strings.Builder
			cmd.Stderr = &told
			if err := cmd.Run(); err == nil {
				t.Fatal("it ended without an error")
			}
			got := strings.TrimSpace(told.String())
			if !strings.HasPrefix(got, "local: ") || strings.Contains(got, "\n") || !strings.Contains(got, c.want) {
				t.Errorf("it said %q, and should say %q in one line", got, c.want)
			}
		})
	}
}
