package executor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one rule that a file breaks.
type Problem struct {
	File   string
	Line   int
	Rule   string
	Remedy string
}

// String is "file:line: rule; what to do".
func (p Problem) String() string {
	return fmt.Sprintf("%s:%d: %s; %s", p.File, p.Line, p.Rule, p.Remedy)
}

// Problems are all rules that a file breaks, in the order of its lines, each once.
type Problems []Problem

// Error has one line for each.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, one := range p {
		lines[i] = one.String()
	}
	return strings.Join(lines, "\n")
}

// err is nil without problems. What an anchor brings in twice is reported once.
func (p Problems) err() error {
	if len(p) == 0 {
		return nil
	}
	sorted := slices.SortedStableFunc(slices.Values(p), func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Rule, b.Rule))
	})
	return Problems(slices.Compact(sorted))
}
