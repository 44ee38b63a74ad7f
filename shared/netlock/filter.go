//go:build linux && (amd64 || arm64)

package netlock

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The program made from the table: the architecture, the bounds of the call's
// number, the hot calls, then a search tree over the calls that have rules.

const (
	offNr, offArch = 0, 4 // in struct seccomp_data

	load    = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
	jumpEq  = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
	jumpGe  = unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K
	jumpGt  = unix.BPF_JMP | unix.BPF_JGT | unix.BPF_K
	jumpAny = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
	jump    = unix.BPF_JMP | unix.BPF_JA
	maskAnd = unix.BPF_ALU | unix.BPF_AND | unix.BPF_K
	answer  = unix.BPF_RET | unix.BPF_K
)

type program []unix.SockFilter

func op(code uint16, k uint32) unix.SockFilter { return unix.SockFilter{Code: code, K: k} }

// branch goes on past yes instructions when the test holds, past no when not.
func branch(code uint16, k uint32, yes, no int) unix.SockFilter {
	if yes > 255 || no > 255 {
		panic("netlock: a rule is too long for a jump") // the table is fixed: a test builds every form of it
	}
	return unix.SockFilter{Code: code, K: k, Jt: uint8(yes), Jf: uint8(no)}
}

func low(arg int) uint32  { return uint32(16 + 8*arg) } // both architectures are little-endian
func high(arg int) uint32 { return uint32(20 + 8*arg) }

// assemble makes the program from rules.
func assemble(rules []rule) program {
	p := program{
		op(load, offArch), branch(jumpEq, auditArch, 1, 0), op(answer, uint32(kill)), // i386, AArch32
		op(load, offNr),
		branch(jumpGe, foreignABI, 0, 1), op(answer, uint32(kill)), // x32
		branch(jumpGt, lastKnown, 0, 1), op(answer, uint32(refuse(unix.ENOSYS))),
	}
	for i, nr := range hot {
		p = append(p, branch(jumpEq, nr, len(hot)-i, 0))
	}
	p = append(p, op(jump, 1), op(answer, uint32(allow)))
	return append(p, tree(byCall(rules))...)
}

// byCall groups rules by number, keeping the order inside a call.
func byCall(rules []rule) [][]rule {
	sorted := slices.Clone(rules)
	slices.SortStableFunc(sorted, func(a, b rule) int { return cmp.Compare(a.nr, b.nr) })
	var groups [][]rule
	for i, r := range sorted {
		if i == 0 || r.nr != sorted[i-1].nr {
			groups = append(groups, nil)
		}
		groups[len(groups)-1] = append(groups[len(groups)-1], r)
	}
	return groups
}

func tree(groups [][]rule) program {
	switch len(groups) {
	case 0:
		return program{op(answer, uint32(allow))}
	case 1:
		var body program
		for _, r := range groups[0] {
			body = append(body, r.compile()...)
		}
		body = append(body, op(answer, uint32(allow))) // a call whose last rule has conditions: no table has one
		head := program{branch(jumpEq, groups[0][0].nr, 1, 0), op(answer, uint32(allow))}
		return append(head, body...)
	}
	half := len(groups) / 2
	below, above := tree(groups[:half]), tree(groups[half:])
	p := program{branch(jumpGe, groups[half][0].nr, 0, 1), op(jump, uint32(len(below)))}
	return append(append(p, below...), above...)
}

// compile makes one rule: its conditions, each of which leaves for the next
// rule when it does not hold, then its answer.
func (r rule) compile() program {
	p := program{op(answer, uint32(r.do))}
	for _, c := range slices.Backward(r.when) {
		p = append(c.compile(len(p)), p...)
	}
	return p
}

// compile tests c and skips rest instructions when it does not hold.
func (c cond) compile(rest int) program {
	switch {
	case c.nonzero:
		return program{op(load, low(c.arg)), branch(jumpEq, 0, 0, 2), op(load, high(c.arg)), branch(jumpEq, 0, rest, 0)}
	case c.any != 0:
		return program{op(load, low(c.arg)), branch(jumpAny, c.any, 0, rest)}
	}
	p := program{op(load, low(c.arg))}
	if c.mask != 0 {
		p = append(p, op(maskAnd, c.mask))
	}
	for i, v := range c.in {
		if i == len(c.in)-1 {
			return append(p, branch(jumpEq, v, 0, rest))
		}
		p = append(p, branch(jumpEq, v, len(c.in)-1-i, 0))
	}
	return append(p, op(jump, uint32(rest))) // one of no values: never
}

// install puts the program on the calling thread, which must be locked and exec.
// It returns the listener, and whether the kernel keeps signals from ending a
// call that the supervisor has received (5.19).
func (p program) install() (fd int, firm bool, err error) {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return -1, false, fmt.Errorf("no_new_privs: %w", err)
	}
	fp := unix.SockFprog{Len: uint16(len(p)), Filter: &p[0]}
	// SPEC_ALLOW: before 5.16 a filter also slows its task down against Spectre, which nothing here asks for.
	flags := uintptr(unix.SECCOMP_FILTER_FLAG_SPEC_ALLOW | unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV)
	fd, err = setFilter(flags, &fp)
	firm = err == nil
	if errors.Is(err, unix.EINVAL) {
		fd, err = setFilter(flags&^unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, &fp)
	}
	if err != nil {
		return -1, false, fmt.Errorf("seccomp: %w", err)
	}
	return fd, firm, nil
}

func setFilter(flags uintptr, fp *unix.SockFprog) (int, error) {
	fd, _, e := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(fp)))
	if e != 0 {
		return -1, e
	}
	return int(fd), nil
}
