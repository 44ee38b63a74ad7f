package task

import (
	"slices"
	"strings"
	"time"
)

// edges are the transitions of a Task. In progress is only entered by starting a run.
var edges = map[Status][]Status{
	StatusBacklog:    {StatusReady, StatusCancelled},
	StatusReady:      {StatusInProgress, StatusBacklog, StatusCancelled},
	StatusInProgress: {StatusInReview, StatusBacklog, StatusCancelled},
	StatusInReview:   {StatusInProgress, StatusDone, StatusBacklog, StatusCancelled},
	StatusDone:       {},
	StatusCancelled:  {},
}

// Move is a transition that a person asks for.
type Move struct {
	Target   Status
	Reason   string
	Executor *ExecutorRef // of the target ready only
	By       Caller

	// What the person saw; both optional.
	Attempt      *int
	ResultSHA256 *string

	AutoAccept *AutoAccept // of an acceptance by a Routine
}

// ExecutorRef names an executor.
type ExecutorRef struct {
	Kind ExecutorKind
	ID   string
}

// Validate checks what does not depend on the Task.
func (m Move) Validate() error {
	switch {
	case strings.TrimSpace(m.Reason) == "":
		return Invalidf("reason_blank", "Say why in reason.", "A transition requires a non-empty reason")
	case m.Target == StatusReady && (m.Executor == nil || strings.TrimSpace(m.Executor.ID) == ""):
		return Invalidf("executor_required", "Send executor_type and executor_id.", "Ready requires an executor type and id")
	case m.Target != StatusReady && m.Executor != nil:
		return Invalidf("executor_unexpected", "Leave executor_type and executor_id out.", "Only Ready can set an executor")
	}
	return nil
}

// CheckEdge says whether a person may move the Task there. KindConflict otherwise.
func (t *Task) CheckEdge(target Status) error {
	if target == StatusInProgress {
		return Conflictf("start_a_run", "POST /company/tasks/"+t.ID+"/runs.",
			"Start a run with POST /company/tasks/%s/runs to enter In progress", t.ID)
	}
	if !slices.Contains(edges[t.Status], target) {
		return Conflictf("invalid_transition", "Read the Task and choose a transition that its status allows.",
			"Invalid task transition from %s to %s", t.Status, target)
	}
	if target == StatusInReview && t.LiveRunID != nil {
		return Conflictf("run_live", "Wait for the run to end, or cancel it.", "The Task has a live run %s; its result would be lost", *t.LiveRunID)
	}
	return nil
}

// CheckSeen compares what the person saw with what is there. KindConflict says what changed.
func (t *Task) CheckSeen(attempt *int, resultSHA256 *string) error {
	if attempt != nil && *attempt != t.Attempts() {
		return Conflictf("attempt_changed", "Read the Task again and decide on its latest attempt.",
			"Attempt %d was reviewed, but the latest attempt is %d", *attempt, t.Attempts())
	}
	if resultSHA256 != nil && (t.Result == nil || t.Result.SHA256 != *resultSHA256) {
		return Conflictf("result_changed", "Read the Task again and decide on its present result.",
			"The result was changed since it was reviewed")
	}
	return nil
}

// Moved returns the Task after the transition; CheckEdge and CheckSeen have passed.
func (t Task) Moved(m Move, now time.Time) Task {
	entry := Entry{From: string(t.Status), Target: string(m.Target), Reason: m.Reason, UserID: nonEmpty(m.By.ID), CreatedAt: now.Unix()}
	switch m.Target {
	case StatusReady:
		kind, id := m.Executor.Kind, m.Executor.ID
		t.ExecutorType, t.ExecutorID = &kind, &id
		t.AcceptedBy, t.AcceptedAt = nonEmpty(m.By.ID), &now
		entry.Authority, entry.AutoAccept = m.By.Snapshot(), m.AutoAccept
	case StatusBacklog:
		t.ExecutorType, t.ExecutorID, t.AcceptedBy, t.AcceptedAt = nil, nil, nil, nil
	case StatusInProgress, StatusInReview, StatusDone, StatusCancelled:
	}
	return t.with(entry, now)
}

// with appends an entry and takes its target as the status.
func (t Task) with(e Entry, now time.Time) Task {
	t.Transitions = append(slices.Clone(t.Transitions), e)
	t.Status, t.UpdatedAt = Status(e.Target), &now
	return t
}

// EndsLiveRun says that the Task's live run must not go on after a move there.
func (m Move) EndsLiveRun() bool { return m.Target == StatusBacklog || m.Target == StatusCancelled }

func nonEmpty(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
