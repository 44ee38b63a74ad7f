package task

import (
	"strconv"
	"time"
)

// RunDBID is what reservations carry as run_db_id: this service keeps every run in one store.
const RunDBID = "company-db"

// Texts of the entries that a run leaves in a Task's history.
const (
	ReasonRequested = "Task execution requested"
	ReasonCompleted = "Execution completed; human review required"
)

// Start is a request to start an attempt.
type Start struct {
	Attempt      int
	By           Caller
	Reason       string  // the reviewer's words, empty for none
	ResultSHA256 *string // of the result that is revised, nil when not said
}

// Attempts is the number of the latest attempt, 0 before the first.
func (t *Task) Attempts() int {
	n := 0
	for _, e := range t.Transitions {
		n = max(n, e.Attempt)
	}
	return n
}

// CheckNumber comes before anything about the named run: a Task that waits to be started takes the next attempt only,
// also where the attempt named was made before. KindConflict otherwise.
func (t *Task) CheckNumber(attempt int) error {
	next := t.Attempts() + 1
	switch {
	case t.Status != StatusReady && t.Status != StatusInReview && (t.Status != StatusBacklog || attempt == 1):
		return nil
	case attempt == next && t.Status == StatusInReview && next == 1:
		return Conflictf("no_attempt_to_revise", "Return the Task to backlog and accept it again.", "A revision requires a previous Task attempt")
	case attempt != next:
		return wrongAttempt(next)
	}
	return nil
}

// CheckStart says whether an attempt without a run may be reserved now. previous is the run of the latest attempt, nil
// when there is none. KindConflict otherwise, in the contract's order.
func (t *Task) CheckStart(s Start, previous *Run) error {
	next := t.Attempts() + 1
	switch {
	case t.ExecutorType == nil || t.ExecutorID == nil,
		t.Status != StatusReady && t.Status != StatusInProgress && t.Status != StatusInReview:
		return Conflictf("not_accepted", "Accept the Task for an executor first.", "Only accepted work can be started")
	case previous != nil && !previous.State.Terminal():
		return Conflictf("run_live", "Wait for the previous run to end, or cancel it.", "The previous Task run is still active")
	case t.Status == StatusInProgress && t.Result != nil && t.Result.Status == ResultCompleted:
		return Conflictf("revision_required", "Move the Task to review and request the revision from there.",
			"Request revisions before starting another successful attempt")
	case s.Attempt != next:
		return wrongAttempt(next)
	}
	return t.CheckSeen(nil, s.ResultSHA256)
}

func wrongAttempt(next int) error {
	e := Conflictf("wrong_attempt", "Send the number of the next attempt, or of one that exists to read its state.",
		"Start the next Task attempt, or retry the original attempt")
	e.Remedy += " The next attempt is " + strconv.Itoa(next) + "."
	return e
}

// SessionOwner is whom the session of every attempt belongs to: the Task's creator, else the owner that an earlier
// attempt recorded.
func (t *Task) SessionOwner() *string {
	if t.UserID != nil {
		return t.UserID
	}
	for _, e := range t.Transitions {
		if e.Attempt > 0 && e.SessionUserID != nil {
			return e.SessionUserID
		}
	}
	return nil
}

// RunDB is where the runs of the Task's attempts are kept; started is false before the first.
func (t *Task) RunDB() (id string, started bool) {
	for _, e := range t.Transitions {
		if e.Attempt > 0 {
			return e.RunDBID, true
		}
	}
	return "", false
}

// Reserved returns the Task with the attempt reserved; CheckStart has passed.
func (t Task) Reserved(s Start, runDB string, now time.Time) Task {
	id := RunID(t.ID, s.Attempt)
	t.JobID, t.LiveRunID, t.Result = &id, &id, nil
	return t.with(Entry{
		From: string(t.Status), Target: string(StatusInProgress), Reason: ReasonRequested, UserID: nonEmpty(s.By.ID),
		StartedBy: nonEmpty(s.By.ID), SessionUserID: t.SessionOwner(), CreatedAt: now.Unix(), Attempt: s.Attempt,
		RunDBID: runDB, RevisionReason: s.Reason,
	}, now)
}

// ReasonsSinceLastAttempt are the words that people left since the attempt before the latest one was started, oldest
// first: why they moved the Task, and the reviewer's of the latest reservation. A first attempt has none.
func (t *Task) ReasonsSinceLastAttempt() []string {
	var reasons []string
	before := 0
	for _, e := range t.Transitions {
		switch {
		case e.Attempt > 0:
			if e.Attempt == t.Attempts() && e.RevisionReason != "" {
				reasons = append(reasons, e.RevisionReason)
			}
			if e.Attempt < t.Attempts() {
				reasons, before = nil, e.Attempt
			}
		case e.Action == "" && e.UserID != nil && before > 0:
			reasons = append(reasons, e.Reason)
		}
	}
	return reasons
}
