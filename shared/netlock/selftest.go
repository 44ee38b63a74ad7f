package netlock

import (
	"fmt"
	"strings"
)

// Check is one attack of the self-test, or one thing that must work.
type Check struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
}

// Report is what SelfTest found on this machine, in this container.
type Report struct {
	Kernel   string // release
	Arch     string
	Yama     int // kernel.yama.ptrace_scope, -1 without Yama
	Filters  int // seccomp filters that the supervisor itself is under, -1 if the kernel does not say
	Landlock int // version, 0 without
	Ptrace   bool
	UID, GID int // of the command; the supervisor's own where they are shared
	Checks   []Check
	Leaks    int // connections and datagrams that reached a place they must not
}

// Held tells whether the lock withstood all of it.
func (r Report) Held() bool {
	for _, c := range r.Checks {
		if !c.OK {
			return false
		}
	}
	return len(r.Checks) > 0 && r.Leaks == 0
}

// Failed are the checks that failed.
func (r Report) Failed() []Check {
	var out []Check
	for _, c := range r.Checks {
		if !c.OK {
			out = append(out, c)
		}
	}
	return out
}

// Machine is a line on where the test ran.
func (r Report) Machine() string {
	return fmt.Sprintf("kernel %s %s, yama %d, landlock %d, filters above %d, CAP_SYS_PTRACE %t, command %d:%d",
		r.Kernel, r.Arch, r.Yama, r.Landlock, r.Filters, r.Ptrace, r.UID, r.GID)
}

// String is a line on the result, and one on each failed check.
func (r Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "lock held: %t; %d checks, %d failed, %d leaks; %s", r.Held(), len(r.Checks), len(r.Failed()), r.Leaks, r.Machine())
	for _, c := range r.Failed() {
		fmt.Fprintf(&b, "\nfailed: %s: %s", c.Name, c.Detail)
	}
	return b.String()
}
