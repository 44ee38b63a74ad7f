package task

import (
	"slices"
	"testing"
)

// The vector is the contract's formula, computed once by another implementation of UUIDv5.
func TestRunID(t *testing.T) {
	t.Parallel()
	const want = "145eed7a-ff3c-5460-9cd3-23826d989aa7"
	if got := RunID("00000000-0000-0000-0000-000000000001", 1); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func accepted(status Status, attempts int) Task {
	kind, id, alice := ExecutorAgent, "engineer", "alice"
	t := Task{ID: "T", Status: status, ExecutorType: &kind, ExecutorID: &id, UserID: &alice}
	for n := 1; n <= attempts; n++ {
		t.Transitions = append(t.Transitions, Entry{Attempt: n, SessionUserID: &alice, RunDBID: RunDBID})
	}
	return t
}

func TestCheckStart(t *testing.T) {
	t.Parallel()
	ended, live := &Run{State: StateError}, &Run{State: StateRunning}
	const (
		wrong    = "Start the next Task attempt, or retry the original attempt"
		refused  = "Only accepted work can be started"
		active   = "The previous Task run is still active"
		revise   = "Request revisions before starting another successful attempt"
		noReview = "A revision requires a previous Task attempt"
	)
	completed := func(task Task) Task { task.Result = &Result{Status: ResultCompleted}; return task }
	failed := func(task Task) Task { task.Result = &Result{Status: ResultError}; return task }
	for name, c := range map[string]struct {
		task     Task
		attempt  int
		previous *Run
		want     string
	}{
		"first":                     {accepted(StatusReady, 0), 1, nil, ""},
		"skipping":                  {accepted(StatusReady, 0), 2, nil, wrong},
		"reaccepted":                {accepted(StatusReady, 1), 2, ended, ""},
		"reaccepted, the old one":   {accepted(StatusReady, 1), 1, ended, wrong},
		"reaccepted, still running": {accepted(StatusReady, 1), 2, live, active},
		"revision":                  {completed(accepted(StatusInReview, 1)), 2, ended, ""},
		"review without attempt":    {accepted(StatusInReview, 0), 1, nil, noReview},
		"retry of a failed one":     {failed(accepted(StatusInProgress, 1)), 2, ended, ""},
		"while running":             {accepted(StatusInProgress, 1), 2, live, active},
		"after success":             {completed(accepted(StatusInProgress, 1)), 2, ended, revise},
		"beyond the next":           {failed(accepted(StatusInProgress, 1)), 3, ended, wrong},
		"backlog":                   {accepted(StatusBacklog, 0), 1, nil, refused},
		"done":                      {accepted(StatusDone, 1), 2, ended, refused},
		"cancelled":                 {accepted(StatusCancelled, 1), 2, ended, refused},
	} {
		err := c.task.CheckNumber(c.attempt)
		if err == nil {
			err = c.task.CheckStart(Start{Attempt: c.attempt}, c.previous)
		}
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestReservedBindsTheOwnerAndTheStarter(t *testing.T) {
	t.Parallel()
	before := accepted(StatusInReview, 1)
	before.SessionID, before.Result = "S", &Result{Status: ResultCompleted}
	after := before.Reserved(Start{Attempt: 2, By: Caller{ID: "bob"}, Reason: "more tests"}, RunDBID, noon)
	e := after.Transitions[len(after.Transitions)-1]
	id := RunID("T", 2)
	if after.Status != StatusInProgress || after.Result != nil || *after.JobID != id || *after.LiveRunID != id || after.SessionID != "S" {
		t.Errorf("%+v", after)
	}
	if *e.StartedBy != "bob" || *e.UserID != "bob" || *e.SessionUserID != "alice" || e.Attempt != 2 || e.Reason != ReasonRequested || e.RevisionReason != "more tests" {
		t.Errorf("%+v", e)
	}
	if err := after.CheckStart(Start{Attempt: 3}, &Run{State: StatePending}); err == nil {
		t.Error("a second attempt was let in beside the reserved one")
	}
}

func TestSessionOwnerOfAnUnownedTask(t *testing.T) {
	t.Parallel()
	task := accepted(StatusReady, 1)
	task.UserID = nil
	if owner := task.SessionOwner(); owner == nil || *owner != "alice" {
		t.Errorf("the owner of an earlier attempt was lost: %v", owner)
	}
	if owner := (&Task{}).SessionOwner(); owner != nil {
		t.Errorf("an owner from nowhere: %v", *owner)
	}
}

func TestReasonsSinceLastAttempt(t *testing.T) {
	t.Parallel()
	bob := "bob"
	person := func(reason string) Entry { return Entry{Reason: reason, UserID: &bob} }
	task := Task{Transitions: []Entry{
		person("accepted"),
		{Attempt: 1, UserID: &bob},
		{Reason: ReasonCompleted},
		person("returned: too long"), person("accepted again"),
		{Attempt: 2, UserID: &bob, RevisionReason: "shorter"},
	}}
	if got, want := task.ReasonsSinceLastAttempt(), []string{"returned: too long", "accepted again", "shorter"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	task.Transitions = task.Transitions[:2]
	if got := task.ReasonsSinceLastAttempt(); got != nil {
		t.Errorf("a first attempt has reasons: %q", got)
	}
}
