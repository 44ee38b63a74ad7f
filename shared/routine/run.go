package routine

import (
	"encoding/json"
	"fmt"
	"time"

	"companyos/shared/task"
)

// Status is the state of a Routine's run.
type Status string

// The states of a run. Running: recorded, an executor works on it or will. Skipped: its time came while the run before
// had not ended. The others are ends.
const (
	StatusRunning   Status = "running"
	StatusSuccess   Status = "success"
	StatusFailed    Status = "failed"
	StatusSkipped   Status = "skipped"
	StatusCancelled Status = "cancelled"
)

// Run is one firing of a Routine.
type Run struct {
	ID          string // sr_<nanoseconds>_<uuid>, so that ids are ordered by time
	RoutineID   string
	ProductID   string
	UserID      *string // who triggered it; nil: the schedule did
	Status      Status
	RunID       string // names it in the queue; empty when nothing was started
	SessionID   string
	Message     string // what the executor was told
	Authority   task.Authorization
	ClaimedBy   string
	LeaseUntil  *time.Time
	StartUntil  time.Time // unclaimed after it: failed
	TriggeredAt time.Time
	CompletedAt *time.Time
	Error       *string
	Output      json.RawMessage
}

// NewRunID names a run by its time; unique is any UUID.
func NewRunID(at time.Time, unique string) string {
	return fmt.Sprintf("sr_%020d_%s", at.UnixNano(), unique)
}

// The contract's and our texts of runs that did not end well.
const (
	ErrorProductArchived = "Routine Product is missing or archived"
	ErrorActive          = "The previous run of the Routine is still active"
	ErrorLost            = "Worker lost and attempt budget exhausted; run was not re-executed."
	ErrorNeverStarted    = "The run was not started before its start limit"
)

// Last is what the Routine keeps of a run.
func (r *Run) Last() *LastRun {
	return &LastRun{
		ID: r.ID, Status: r.Status, TriggeredAt: r.TriggeredAt, CompletedAt: r.CompletedAt, RunID: r.RunID, SessionID: r.SessionID, Error: r.Error,
	}
}

// Fired returns the Routine and its run as both are recorded: running, skipped while the run before has not ended, or
// failed with a problem that is known before anything starts. A firing by schedule moves the next occurrence on.
func Fired(r Routine, run Run, problem string, now time.Time) (Routine, Run) {
	switch {
	case problem != "":
		run = run.ended(StatusFailed, problem, now)
	case r.LiveRunID != nil:
		run = run.ended(StatusSkipped, ErrorActive, now)
	default:
		run.Status = StatusRunning
		r.LiveRunID = &run.ID
	}
	if run.Status != StatusRunning {
		run.RunID, run.SessionID = "", ""
	}
	if run.Status != StatusSkipped {
		r.LastRun = run.Last()
	}
	return r, run
}

func (r Run) ended(s Status, problem string, now time.Time) Run {
	r.Status, r.CompletedAt, r.LeaseUntil = s, &now, nil
	if problem != "" {
		r.Error = &problem
	}
	return r
}

// Begun gives a running run to a worker, once; ok is false when it is another's or has ended.
func (r Run) Begun(worker string, lease time.Duration, now time.Time) (_ Run, ok bool) {
	if r.Status != StatusRunning || (r.ClaimedBy != "" && r.ClaimedBy != worker) || !now.Before(r.StartUntil) {
		return r, false
	}
	r.ClaimedBy = worker
	until := now.Add(lease)
	r.LeaseUntil = &until
	return r, true
}

// Ended ends a run and frees its Routine for the next one; ok is false when it is not this worker's any more.
func Ended(r Routine, run Run, worker string, s Status, problem string, output json.RawMessage, now time.Time) (_ Routine, _ Run, ok bool) {
	if run.Status != StatusRunning || run.ClaimedBy != worker {
		return r, run, false
	}
	run = run.ended(s, problem, now)
	run.Output = output
	if r.LiveRunID != nil && *r.LiveRunID == run.ID {
		r.LiveRunID = nil
		r.LastRun = run.Last()
	}
	return r, run, true
}

// Overdue says why a running run has to be ended by whoever looks at it, empty when it has not.
func (r *Run) Overdue(now time.Time) string {
	switch {
	case r.Status != StatusRunning:
		return ""
	case r.LeaseUntil != nil && !now.Before(*r.LeaseUntil):
		return ErrorLost
	case r.LeaseUntil == nil && !now.Before(r.StartUntil):
		return ErrorNeverStarted
	}
	return ""
}
