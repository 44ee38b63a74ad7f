//go:build attack && linux && (amd64 || arm64)

package netlock

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// What the lock may cost. Machines that run CI are noisy: each measure is taken
// in turns, locked and unlocked, and what is compared is stated.
const (
	budgetStart   = 5 * time.Millisecond   // more than unlocked, best of the rounds
	budgetConnect = 500 * time.Microsecond // more than unlocked, best medians
	budgetRatio   = 1.10                   // of exec, git status and go build, best of the rounds
	budgetMemory  = 10 << 10               // KiB, resident, of a supervisor after a flood
)

// rounds measures f on both sides in turns.
func rounds(n int, f func(side) time.Duration) (unlocked, locked []time.Duration) {
	for range n {
		unlocked = append(unlocked, f(sides[0]))
		locked = append(locked, f(sides[1]))
	}
	return unlocked, locked
}

func timed(f func()) time.Duration {
	begin := time.Now()
	f()
	return time.Since(begin)
}

func TestBudget(t *testing.T) {
	allowed, _ := broker(t)
	p := testPolicy(t, allowed)
	self, tree := reachableSelf(t), gitTree(t)
	if p.locksPaths() {
		p.ReadWrite = append(p.ReadWrite, tree, "/dev")
	}
	role := func(s side, role string, args ...string) string {
		return s.program(t, p, "/", []string{roleEnv + "=" + role, "NETLOCK_TEST_ARGS=" + strings.Join(args, " ")}, "role", self)
	}

	u, l := rounds(60, func(s side) time.Duration {
		return timed(func() { s.program(t, p, "/", nil, "true", "/bin/true") })
	})
	report(t, "start of /bin/true, median", median(u), median(l), true)
	report(t, "start of /bin/true, best", slices.Min(u), slices.Min(l), slices.Min(l)-slices.Min(u) <= budgetStart)

	u, l = rounds(5, func(s side) time.Duration {
		ns, err := strconv.Atoi(strings.TrimSpace(role(s, "connect", allowed.String(), "300")))
		if err != nil {
			t.Fatal(err)
		}
		return time.Duration(ns)
	})
	report(t, "connect and close, median of 300", slices.Min(u), slices.Min(l), slices.Min(l)-slices.Min(u) <= budgetConnect)

	for _, c := range []struct {
		name string
		n    int
		run  func(side)
	}{
		{"fork and exec of /bin/true x100", 8, func(s side) { role(s, "spawn", "100") }},
		{"git status x20", 8, func(s side) {
			s.program(t, p, tree, plainEnv(tree), "sh", "/bin/sh", "-c", "i=0; while [ $i -lt 20 ]; do git status --porcelain; i=$((i+1)); done")
		}},
		{"go build -a unicode/utf8 sort", 3, func(s side) {
			s.program(t, p, tree, plainEnv(tree), "go", "go", "build", "-a", "unicode/utf8", "sort")
		}},
	} {
		u, l := rounds(c.n, func(s side) time.Duration { return timed(func() { c.run(s) }) })
		report(t, c.name+", best", slices.Min(u), slices.Min(l), float64(slices.Min(l)) <= budgetRatio*float64(slices.Min(u)))
	}
	for _, call := range []string{"read", "getppid", "ioctl"} {
		u, l := rounds(5, func(s side) time.Duration { return timed(func() { role(s, "calls", call, "1000000") }) / 1000000 })
		report(t, "system call "+call+", best", slices.Min(u), slices.Min(l), true)
	}
}

func report(t *testing.T, what string, unlocked, locked time.Duration, ok bool) {
	t.Helper()
	t.Logf("%-36s unlocked %12v  locked %12v  (%+.1f %%)", what, unlocked, locked, 100*(float64(locked)/float64(unlocked)-1))
	if !ok {
		t.Errorf("%s is over its budget", what)
	}
}

// The supervisor's memory, while the command floods it.
func TestSupervisorMemory(t *testing.T) {
	allowed, _ := broker(t)
	c := cli(t, asUser("-quiet", "-allow", allowed.String(), "--", reachableSelf(t))...)
	c.Env = []string{"PATH=/bin:/usr/bin"}
	flood := fmt.Sprintf("%s=flood", roleEnv)
	c.Args = append(c.Args[:len(c.Args)-1], "/usr/bin/env", flood, "NETLOCK_TEST_ARGS=60000 "+allowed.String(), c.Args[len(c.Args)-1])
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	most := 0
	done := make(chan error, 1)
	go func() { done <- c.Wait() }()
	for {
		select {
		case err := <-done:
			t.Logf("resident memory of the supervisor under a flood: at most %d KiB", most)
			if err != nil || most == 0 || most > budgetMemory {
				t.Errorf("%v, %d KiB", err, most)
			}
			return
		case <-time.After(20 * time.Millisecond):
			if v, err := strconv.Atoi(strings.TrimSuffix(procStatus(fmt.Sprint(c.Process.Pid))["VmRSS"], " kB")); err == nil {
				most = max(most, v)
			}
		}
	}
}
