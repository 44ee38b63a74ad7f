package task

import (
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

func move(target Status) Move {
	m := Move{Target: target, Reason: "r", By: Caller{ID: "alice", Scopes: []string{"tasks:write"}}}
	if target == StatusReady {
		m.Executor = &ExecutorRef{ExecutorAgent, "engineer"}
	}
	return m
}

// The whole matrix: what the contract's diagram does not draw is refused, self-edges included.
func TestEdges(t *testing.T) {
	t.Parallel()
	allowed := map[string]bool{
		"backlog>ready": true, "backlog>cancelled": true,
		"ready>backlog": true, "ready>cancelled": true,
		"in_progress>in_review": true, "in_progress>backlog": true, "in_progress>cancelled": true,
		"in_review>done": true, "in_review>backlog": true, "in_review>cancelled": true,
	}
	for _, from := range Statuses() {
		for _, to := range Statuses() {
			task := Task{ID: "T", Status: from}
			err := task.CheckEdge(to)
			want := "Invalid task transition from " + string(from) + " to " + string(to)
			if to == StatusInProgress {
				want = "Start a run with POST /company/tasks/T/runs to enter In progress"
			}
			switch {
			case allowed[string(from)+">"+string(to)]:
				if err != nil {
					t.Errorf("%s to %s: %v", from, to, err)
				}
			case err == nil || err.Error() != want || KindOf(err) != KindConflict:
				t.Errorf("%s to %s: %v, want %q", from, to, err, want)
			}
		}
	}
}

func TestReviewOfALiveRunIsRefused(t *testing.T) {
	t.Parallel()
	run := "R"
	task := Task{Status: StatusInProgress, LiveRunID: &run}
	if err := task.CheckEdge(StatusInReview); KindOf(err) != KindConflict {
		t.Errorf("in_review: %v", err)
	}
	for _, target := range []Status{StatusBacklog, StatusCancelled} {
		if err := task.CheckEdge(target); err != nil || !move(target).EndsLiveRun() {
			t.Errorf("%s: %v", target, err)
		}
	}
}

func TestMoveValidate(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*Move)
		want   string
	}{
		"blank reason":       {func(m *Move) { m.Reason = " \n" }, "A transition requires a non-empty reason"},
		"no executor":        {func(m *Move) { m.Executor = nil }, "Ready requires an executor type and id"},
		"blank executor":     {func(m *Move) { m.Executor.ID = " " }, "Ready requires an executor type and id"},
		"executor elsewhere": {func(m *Move) { m.Target = StatusDone }, "Only Ready can set an executor"},
		"fine":               {func(*Move) {}, ""},
	} {
		m := move(StatusReady)
		c.change(&m)
		err := m.Validate()
		if c.want == "" && err == nil {
			continue
		}
		if err == nil || err.Error() != c.want || KindOf(err) != KindInvalid {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestMovedWritesWhatTheContractSays(t *testing.T) {
	t.Parallel()
	before := Task{ID: "T", Status: StatusBacklog, Result: &Result{RunID: "R"}, Checkout: &Checkout{Commit: "c"}}
	ready := before.Moved(move(StatusReady), noon)
	last := ready.Transitions[len(ready.Transitions)-1]
	if ready.Status != StatusReady || *ready.ExecutorID != "engineer" || *ready.AcceptedBy != "alice" || !ready.AcceptedAt.Equal(noon) ||
		last.Authority == nil || last.Authority.PrincipalID != "alice" || last.From != "backlog" || last.CreatedAt != noon.Unix() {
		t.Errorf("ready: %+v, entry %+v", ready, last)
	}
	if len(before.Transitions) != 0 {
		t.Error("the history of the Task before was changed")
	}
	back := ready.Moved(move(StatusBacklog), noon)
	if back.ExecutorID != nil || back.ExecutorType != nil || back.AcceptedBy != nil || back.AcceptedAt != nil {
		t.Errorf("backlog keeps the acceptance: %+v", back)
	}
	if back.Result == nil || back.Checkout == nil || len(back.Transitions) != 2 {
		t.Errorf("backlog loses the result, the checkout or history: %+v", back)
	}
}

func TestSeen(t *testing.T) {
	t.Parallel()
	task := Task{Transitions: []Entry{{Attempt: 1}, {Attempt: 2}}, Result: &Result{SHA256: "new"}}
	one, two, old, present := 1, 2, "old", "new"
	for _, c := range []struct {
		attempt *int
		sum     *string
		ok      bool
	}{{nil, nil, true}, {&two, &present, true}, {&one, nil, false}, {nil, &old, false}} {
		if err := task.CheckSeen(c.attempt, c.sum); (err == nil) != c.ok {
			t.Errorf("%v %v: %v", c.attempt, c.sum, err)
		}
	}
	if err := (&Task{}).CheckSeen(nil, &old); KindOf(err) != KindConflict {
		t.Errorf("a result that is not there was approved: %v", err)
	}
}

func TestCallerRights(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		scopes string
		kind   ExecutorKind
		id     string
		want   bool
	}{
		{"agents:run", ExecutorAgent, "a", true},
		{"agents:*:run", ExecutorAgent, "a", true},
		{"agents:a:run", ExecutorAgent, "a", true},
		{"agents:b:run", ExecutorAgent, "a", false},
		{"agents:run", ExecutorTeam, "a", false},
		{"agent_os:admin", ExecutorWorkflow, "w", true},
		{"", ExecutorAgent, "a", false},
	} {
		caller := Caller{Scopes: strings.Fields(c.scopes)}
		if got := caller.MayRun(c.kind, c.id); got != c.want || (caller.RequireRun(c.kind, c.id) == nil) != got {
			t.Errorf("%q may run %s %s: %v", c.scopes, c.kind, c.id, got)
		}
	}
}
