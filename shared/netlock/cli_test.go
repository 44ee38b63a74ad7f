//go:build linux && (amd64 || arm64)

package netlock

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// cli runs the test binary as the lock program.
func cli(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), exe, append([]string{"lock"}, args...)...)
	c.Dir = "/"
	return c
}

// asUser are the flags that this user needs.
func asUser(args ...string) []string {
	if os.Geteuid() == 0 {
		return append([]string{"-uid", strconv.Itoa(testUser), "-gid", strconv.Itoa(testUser)}, args...)
	}
	return append([]string{"-ro", "/", "-rw", "/dev/null"}, args...)
}

func TestCLI(t *testing.T) {
	t.Parallel()
	allowed, s := broker(t)
	self := reachableSelf(t)
	allow := "-allow=" + allowed.String()
	for _, c := range []struct {
		name, out, problems string
		args                []string
		dial                string
		code                int
	}{
		{name: "exit code", args: asUser(allow, "--", "sh", "-c", "exit 7"), code: 7},
		{name: "signal", args: asUser(allow, "--", "sh", "-c", "kill -9 $$"), code: 137},
		{name: "output", args: asUser(allow, "--", "echo", "x"), out: "x\n"},
		{name: "allowed", args: asUser(allow, "--", self), dial: allowed.String(), out: "ok\n"},
		{name: "refused", args: asUser(allow, "--", self), dial: s.evil4.String(), out: "ECONNREFUSED\n", problems: "refused: connection to " + s.evil4.String()},
		{name: "told where to", args: asUser(allow, "--", self), dial: s.evil4.String(), out: "ECONNREFUSED\n", problems: "may reach " + allowed.String() + " and nothing else"},
		{name: "quiet", args: asUser(allow, "-quiet", "--", self), dial: s.evil4.String(), out: "ECONNREFUSED\n"},
		{name: "public address", args: asUser("-allow", "192.0.2.1:443", "--", "true"), code: 125, problems: "loopback"},
		{name: "no address", args: asUser("--", "true"), code: 125, problems: "at least one address"},
		{name: "no command", args: asUser(allow), code: 2, problems: "usage:"},
		{name: "bad flag", args: []string{"-nonsense"}, code: 2, problems: "usage:"},
		{name: "bad address", args: []string{"-allow", "localhost"}, code: 2, problems: "usage:"},
		{name: "not found", args: asUser(allow, "--", "netlock-no-such-program"), code: 125, problems: "nothing was run"},
		{name: "self-test", args: asUser(allow, "-selftest"), out: "lock held: true"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cmd := cli(t, c.args...)
			if c.dial != "" {
				cmd.Env = append(os.Environ(), roleEnv+"=dial", "NETLOCK_TEST_ARGS="+c.dial)
			}
			var out, problems bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &problems
			_ = cmd.Run() // its code is looked at
			if code := cmd.ProcessState.ExitCode(); code != c.code {
				t.Errorf("code %d, want %d: %s", code, c.code, problems.String())
			}
			if !strings.HasPrefix(out.String(), c.out) || !strings.Contains(problems.String(), c.problems) || c.problems == "" && problems.Len() > 0 {
				t.Errorf("%q %q", out.String(), problems.String())
			}
		})
	}
}

// A signal that ends a program goes to the command, as soon as that runs.
func TestCLIPassesSignalsOn(t *testing.T) {
	t.Parallel()
	allowed, _ := broker(t)
	script := `trap "echo got it; exit 5" TERM; echo up; i=0; while [ $i -lt 300 ]; do sleep 0.1; i=$((i+1)); done; echo "no signal"`
	var all sync.WaitGroup
	for range 40 {
		all.Go(func() {
			c := cli(t, asUser("-allow", allowed.String(), "--", "sh", "-c", script)...)
			out, err := c.StdoutPipe()
			if err == nil {
				err = c.Start()
			}
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = io.ReadFull(out, make([]byte, len("up\n"))) // what follows tells if it is not there
			if err := c.Process.Signal(unix.SIGTERM); err != nil {
				t.Error(err)
			}
			rest, err := io.ReadAll(out)
			_ = c.Wait()
			if string(rest) != "got it\n" || c.ProcessState.ExitCode() != 5 {
				t.Errorf("%q %v %v", rest, err, c.ProcessState)
			}
		})
	}
	all.Wait()
}

// What the command leaves behind is taken away, and the supervisor stays small.
func TestCLIOrphansAndMemory(t *testing.T) {
	t.Parallel()
	allowed, _ := broker(t)
	c := cli(t, asUser("-allow", allowed.String(), "--", "sh", "-c", `i=0; while [ $i -lt 20 ]; do (sh -c : &) ; i=$((i+1)); done; sleep 0.5; echo ready; read x`)...)
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 6)); err != nil {
		t.Fatal(err)
	}
	time.Sleep(200 * time.Millisecond)
	pid := strconv.Itoa(c.Process.Pid)
	st := procStatus(pid)
	b, err := os.ReadFile("/proc/" + pid + "/task/" + pid + "/children")
	if n := len(strings.Fields(string(b))); err == nil && n > 2 {
		t.Errorf("%d children are left", n)
	}
	t.Logf("VmRSS %s RssAnon %s, children %q", st["VmRSS"], st["RssAnon"], b)
	in.Close()
	_ = c.Wait()
}
