package task_test

import (
	"os"
	"strings"
	"testing"
)

// What is explored. The names are those of the sets of faults: one launcher fault each, users, hung supervisors, a
// launcher that forgets, two attempts, two Tasks.
var configs = map[string]config{
	"oneE":  {tasks: 1, attempts: 1, launches: 2, boxes: 2, handlers: 1, crashes: 1, losses: 1, failures: 1, users: 1, events: true, healthy: true},
	"oneF":  {tasks: 1, attempts: 1, launches: 2, boxes: 2, handlers: 2, losses: 1, failures: 1, dups: 1, healthy: true},
	"oneFU": {tasks: 1, attempts: 1, launches: 2, boxes: 2, handlers: 2, failures: 1, users: 1, dups: 1, healthy: true},
	"oneC":  {tasks: 1, attempts: 1, launches: 2, boxes: 2, handlers: 2, crashes: 1, users: 1, dups: 1, healthy: true},
	"oneL":  {tasks: 1, attempts: 1, launches: 1, boxes: 1, handlers: 2, crashes: 1, losses: 1, users: 1, dups: 1, healthy: true},
	"hungU": {tasks: 1, attempts: 1, launches: 2, boxes: 2, handlers: 2, failures: 1, users: 1, dups: 1},
	"hungF": {tasks: 1, attempts: 1, launches: 2, boxes: 2, handlers: 2, losses: 1, failures: 1, dups: 1},
	"hungC": {tasks: 1, attempts: 1, launches: 2, boxes: 2, handlers: 2, crashes: 1, users: 1, dups: 1},
	"lateS": {tasks: 1, attempts: 1, launches: 1, boxes: 2, handlers: 2, losses: 1, users: 1, dups: 1, clientTokens: true, lag: true, healthy: true},
	"lateG": {tasks: 1, attempts: 1, launches: 2, boxes: 3, handlers: 1, crashes: 1, losses: 1, users: 1, clientTokens: true, forgets: true, lag: true, healthy: true},
	"attS":  {tasks: 1, attempts: 2, launches: 1, boxes: 1, handlers: 1, users: 2, events: true, away: true, otherCommit: true, healthy: true},
	"attI":  {tasks: 1, attempts: 2, launches: 1, boxes: 1, handlers: 1, crashes: 1, users: 1, otherCommit: true, healthy: true},
	"two0":  {tasks: 2, attempts: 1, launches: 1, boxes: 1, handlers: 1, crashes: 1, short: true, healthy: true},
	"twoN":  {tasks: 2, attempts: 1, launches: 1, boxes: 1, handlers: 1, users: 1, short: true, healthy: true},
	// Small ones, which every run of the tests explores whole.
	"small":     {tasks: 1, attempts: 1, launches: 2, boxes: 2, handlers: 1, losses: 1, failures: 1, users: 1, healthy: true},
	"smallTwo":  {tasks: 2, attempts: 1, launches: 1, boxes: 1, handlers: 1, short: true, healthy: true},
	"smallDup":  {tasks: 1, attempts: 1, launches: 1, boxes: 1, handlers: 2, users: 1, dups: 1},
	"smallPins": {tasks: 1, attempts: 2, launches: 1, boxes: 1, handlers: 1, otherCommit: true, healthy: true},
}

// modelEnv names the configurations to explore, or all of them with "all"; that takes gigabytes and an hour.
const modelEnv = "COMPANY_TEST_MODEL"

func TestModelFindsNoViolation(t *testing.T) {
	t.Parallel()
	names := []string{"small", "smallTwo", "smallDup", "smallPins"}
	if given := os.Getenv(modelEnv); given == "all" {
		names = nil
		for name := range configs {
			names = append(names, name)
		}
	} else if given != "" {
		names = strings.Split(given, ",")
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			m := model{cfg: configs[name]}
			v := m.explore(12_000_000)
			t.Logf("%d states", v.states)
			if v.broken != "" {
				t.Errorf("%s, after\n  %s", v.broken, strings.Join(v.trace, "\n  "))
			} else if !v.complete {
				t.Errorf("more than %d states", v.states)
			}
		})
	}
}
