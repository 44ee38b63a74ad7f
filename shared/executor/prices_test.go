package executor_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"companyos/shared/executor"
)

func TestExamplePrices(t *testing.T) {
	t.Parallel()
	date := time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC)
	want := executor.Prices{
		"claude-sonnet-4-6": {Input: 3, Output: 15, CacheRead: 0.3, CacheWrite: 3.75, Date: date},
		"gpt-5.6-luna":      {Input: 2, Output: 8, CacheRead: 0.2, Date: date},
	}
	if diff := cmp.Diff(want, prices(t)); diff != "" {
		t.Error(diff)
	}
}

func TestPriceProblems(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		yaml string
		want []string // line and words of each problem
	}{
		"empty":           {"", nil},
		"no models":       {"models:\n", nil},
		"unknown section": {"prices: {}\n", []string{`1: unknown key "prices"`}},
		"models a list":   {"models: []\n", []string{"1: models is not a mapping"}},
		"model twice":     {"models:\n  m: &m {input: 1, output: 1, cache_read: 0, cache_write: 0, date: 2026-01-31}\n  m: *m\n", []string{`3: key "m" stands twice`}},
		"a number":        {"models: {m: 3}\n", []string{"1: price of model m is not a mapping"}},
		"nothing in it": {"models:\n  m: {}\n", []string{
			"2: price of model m has no cache_read", "2: price of model m has no cache_write", "2: price of model m has no date",
			"2: price of model m has no input", "2: price of model m has no output",
		}},
		"wrong values": {
			"models:\n  m:\n    input: \"3\"\n    output: -1\n    cache_read: .inf\n    cache_write: $1\n    date: January\n    per: token\n",
			[]string{"3: input in price", "4: output in price", "5: cache_read in price", "6: cache_write in price", "7: date in price", `8: unknown key "per"`},
		},
		"no such day": {"models:\n  m: {input: 1, output: 1, cache_read: 0, cache_write: 0, date: 2026-02-30}\n", []string{"2: date in price of model m is not a date"}},
		"not YAML":    {"models: {\n", []string{"1: not YAML"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := executor.ParsePrices([]byte(test.yaml), "prices.yaml")
			problems, _ := errors.AsType[executor.Problems](err)
			if err != nil && problems == nil || len(problems) != len(test.want) {
				t.Fatalf("got %v, want %q", err, test.want)
			}
			for i, p := range problems {
				if got := fmt.Sprintf("%d: %s", p.Line, p.Rule); !strings.HasPrefix(got, test.want[i]) {
					t.Errorf("got %q, want %q", got, test.want[i])
				}
			}
			if !slices.IsSortedFunc(problems, func(a, b executor.Problem) int { return a.Line - b.Line }) {
				t.Errorf("not in the order of lines: %s", err)
			}
		})
	}
}
