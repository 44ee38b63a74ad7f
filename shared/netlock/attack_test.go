//go:build attack && linux && (amd64 || arm64)

package netlock

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// These tests run the attack program of testdata/attack, which ci.sh builds and
// names in NETLOCK_ATTACK, in each environment. NETLOCK_RACE is how long each
// race goes on, in seconds.

type arena struct {
	policy Policy
	sinks  *sinks
	dir    string
	args   []string // of the attack program, after the first
}

func newArena(t *testing.T, change func(*Policy)) arena {
	t.Helper()
	allowed, s := broker(t)
	a := arena{policy: testPolicy(t, allowed), sinks: s, dir: sharedDir(t)}
	change(&a.policy)
	a.policy.UnixDirs = []string{a.dir}
	victim, safe := 0, true
	if a.policy.locksPaths() {
		a.policy.ReadWrite = append(a.policy.ReadWrite, a.dir)
		safe = landlockVersion() >= landlockSignals
		victim = startVictim(t)
	}
	a.outside(t)
	flag := map[bool]string{true: "1", false: "0"}
	a.args = []string{
		fmt.Sprint(allowed.Port()), fmt.Sprint(s.evil4.Port()), a.dir, fmt.Sprint(victim), flag[safe], flag[a.policy.Listen],
	}
	return a
}

// outside opens a unix server beside the directory that may be reached.
func (a arena) outside(t *testing.T) {
	t.Helper()
	path := filepath.Join(filepath.Dir(a.dir), fmt.Sprintf("outside-%d", a.sinks.evil4.Port()))
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o777); err != nil {
		t.Fatal(err)
	}
	a.sinks.serve(l, &a.sinks.leaks)
}

// startVictim is an unlocked process of the same user.
func startVictim(t *testing.T) int {
	t.Helper()
	c := exec.CommandContext(t.Context(), "/proc/self/exe")
	c.Env = []string{roleEnv + "=sleep"}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	return c.Process.Pid
}

var resultLine = regexp.MustCompile(`(?m)^RESULT ok=(\d+) HOLES=0$`)

// run attacks and returns how many checks passed; all must.
func (a arena) run(t *testing.T, what string, seconds int) (int, string) {
	t.Helper()
	program := os.Getenv("NETLOCK_ATTACK")
	if program == "" {
		t.Fatal("NETLOCK_ATTACK does not name the attack program: run ci.sh")
	}
	c := Command(t.Context(), a.policy, append(append([]string{program, what}, a.args...), strconv.Itoa(seconds))...)
	c.Dir = "/"
	var refused atomic.Int64
	c.Events = func(e Event) {
		if e.Verdict == VerdictDeny {
			refused.Add(int64(e.Count))
		}
	}
	out, err := c.CombinedOutput()
	m := resultLine.FindSubmatch(out)
	if err != nil || m == nil || a.sinks.leaks.Load() != 0 {
		t.Fatalf("%v, %d leaks\n%s", err, a.sinks.leaks.Load(), out)
	}
	n, err := strconv.Atoi(string(m[1]))
	if err != nil {
		t.Fatal(err)
	}
	return n, string(out)
}

func TestAttackMatrix(t *testing.T) {
	t.Log(describeMachine(testPolicy(t)).Machine())
	for name, change := range map[string]func(*Policy){
		"plain":   func(*Policy) {},
		"listen":  func(p *Policy) { p.Listen = true },
		"netlink": func(p *Policy) { p.Netlink = true },
	} {
		t.Run(name, func(t *testing.T) {
			n, out := newArena(t, change).run(t, "matrix", 0)
			if n < 110 {
				t.Errorf("%d checks\n%s", n, out)
			}
			t.Logf("attack matrix: %d checks, 0 holes, 0 leaks", n)
		})
	}
}

func TestAttackRaces(t *testing.T) {
	seconds, err := strconv.Atoi(os.Getenv("NETLOCK_RACE"))
	if err != nil {
		t.Fatalf("NETLOCK_RACE: %v", err)
	}
	for _, race := range []string{"address", "descriptor", "signals", "path"} {
		t.Run(race, func(t *testing.T) {
			t.Parallel()
			begin := time.Now()
			_, out := newArena(t, func(*Policy) {}).run(t, race, seconds)
			for line := range strings.Lines(out) {
				if strings.Contains(line, "race") {
					t.Logf("%s in %.0f s", strings.TrimSpace(line), time.Since(begin).Seconds())
				}
			}
		})
	}
}

// Where the command's memory cannot be read (Yama 2 without CAP_SYS_PTRACE)
// nothing is reached: not what must not be, and not what may.
func TestAttackClosed(t *testing.T) {
	r, err := SelfTest(t.Context(), testPolicy(t, netip.MustParseAddrPort("127.0.0.1:9")))
	if err != nil {
		t.Fatal(err)
	}
	t.Log(describeMachine(testPolicy(t)).Machine())
	expected := map[string]bool{
		"allowed": true, "allowed, IPv4-mapped": true, "allowed, non-blocking": true, "own unix server": true, "race: signals": true, "child: allowed": true,
		"connect, descriptor -1": true, "connect, descriptor no socket": true,
	}
	if r.Held() || r.Leaks != 0 {
		t.Errorf("held %t, %d leaks", r.Held(), r.Leaks)
	}
	for _, c := range r.Failed() {
		if !expected[c.Name] {
			t.Errorf("%s: %s", c.Name, c.Detail)
		}
	}
	t.Logf("closed: %d checks, nothing reached, %d leaks", len(r.Checks), r.Leaks)
}

// A user that shares its id with the command, on a kernel without Landlock.
func TestAttackRefused(t *testing.T) {
	p := Policy{Allow: []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:9")}, ReadOnly: []string{"/"}}
	ran := filepath.Join(t.TempDir(), "ran")
	c := Command(t.Context(), p, "/proc/self/exe")
	c.Args = []string{"role", ran}
	c.Env = []string{roleEnv + "=touch", "NETLOCK_TEST_ARGS=" + ran}
	err := c.Run()
	if _, e := os.Stat(ran); !errors.Is(err, ErrUnsupported) || e == nil {
		t.Errorf("%v; the command ran: %t", err, e == nil)
	}
	t.Logf("refused: %v", err)
}
