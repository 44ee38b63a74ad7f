//go:build linux && (amd64 || arm64)

package netlock

import (
	"fmt"
	"math/bits"
	"runtime"
	"slices"
	"testing"
)

// mutant is a table with one thing changed.
type mutant struct {
	what  string
	rules []rule
}

// mutants changes each rule in every way: gone, answered otherwise, a condition
// gone, a value or bit of a condition gone, a mask gone.
func mutants(rules []rule) []mutant {
	var out []mutant
	with := func(what string, i int, change func(*rule)) {
		m := slices.Clone(rules)
		m[i].when = slices.Clone(m[i].when)
		for j := range m[i].when {
			m[i].when[j].in = slices.Clone(m[i].when[j].in)
		}
		change(&m[i])
		out = append(out, mutant{fmt.Sprintf("%s (rule %d): %s", rules[i].call, i, what), m})
	}
	for i, r := range rules {
		out = append(out, mutant{fmt.Sprintf("%s (rule %d): gone", r.call, i), slices.Delete(slices.Clone(rules), i, i+1)})
		for _, do := range []action{allow, notify, eperm} {
			if do != r.do {
				with(fmt.Sprintf("answers %#x", do), i, func(r *rule) { r.do = do })
			}
		}
		for j, c := range r.when {
			with(fmt.Sprintf("without condition %d", j), i, func(r *rule) { r.when = slices.Delete(r.when, j, j+1) })
			for k, v := range c.in {
				with(fmt.Sprintf("without value %d", v), i, func(r *rule) { r.when[j].in = slices.Delete(r.when[j].in, k, k+1) })
			}
			if c.mask != 0 {
				with("without its mask", i, func(r *rule) { r.when[j].mask = 0 })
			}
			for rest := c.any; bits.OnesCount32(c.any) > 1 && rest != 0; rest &= rest - 1 {
				bit := rest & -rest
				with(fmt.Sprintf("without bit %#x", bit), i, func(r *rule) { r.when[j].any &^= bit })
			}
		}
	}
	return out
}

func TestEveryMutationOfTheTableIsCaught(t *testing.T) {
	t.Parallel()
	calls, class := kernelCalls(t, runtime.GOARCH), reviewed(t)
	total := 0
	for _, netlink := range []bool{false, true} {
		for _, m := range mutants(table(netlink)) {
			total++
			if checkVerdicts(assemble(m.rules), netlink) == nil && checkNamed(m.rules, calls, class) == nil && checkClosed(m.rules) == nil {
				t.Errorf("survives: netlink %t, %s", netlink, m.what)
			}
		}
	}
	for i := range kinds { // the supervisor's own list
		total++
		if gone := slices.Delete(slices.Clone(kinds), i, i+1); checkKinds(gone) == nil {
			t.Errorf("survives: without the kind %+v", kinds[i])
		}
	}
	if err := checkKinds(kinds); err != nil {
		t.Error(err)
	}
	t.Logf("%d mutants", total)
}

// checkKinds tells the first kind of socket that a list has wrongly.
func checkKinds(list []kind) error {
	for family := range uint32(50) {
		for typ := range uint32(12) {
			for _, protocol := range []uint32{0, 1, 6, 17, 58, 132, 136, 256, 262} {
				tcp := (family == 2 || family == 10) && typ == 1 && (protocol == 0 || protocol == 6)
				local := family == 1 && (typ == 1 || typ == 5) && protocol == 0
				if got := inKinds(list, family, typ, protocol); got != (tcp || local) {
					return fmt.Errorf("family %d type %d protocol %d: %t", family, typ, protocol, got)
				}
			}
		}
	}
	return nil
}
