package company

import (
	"strconv"
	"strings"
	"time"

	"companyos/shared/task"
)

// AutomationFailure is a Task that the automation keeps failing on.
type AutomationFailure struct {
	TaskID string
	Reason string
	Count  int64
}

// Cause is why something waits for a person.
type Cause string

// The causes. A Task has one at a time: what the automation fails on comes before a failed attempt.
const (
	CauseProposal   Cause = "proposal"          // in Backlog, nobody accepted it
	CauseReview     Cause = "review"            // an attempt succeeded
	CauseFailed     Cause = "attempt_failed"    // an attempt ended without success
	CauseAutomation Cause = "automation_failed" // the automation cannot start it
	CauseRoutine    Cause = "routine_failed"    // a Routine's latest run failed
)

// Waiting is one thing that waits for a person, as the records have it.
type Waiting struct {
	Cause        Cause
	TaskID       string // of a Task
	RoutineID    string // of a Routine, or of the Routine that proposed the Task
	ProductID    string
	Title        string
	Since        time.Time
	Status       task.Status
	UserID       *string            // the Task's creator
	AcceptedBy   *string            // who accepted it
	ExecutorType *task.ExecutorKind // of the Task
	ExecutorID   *string
	Attempts     int
	Reason       string // of a failure
	Count        int64  // how often
	Automatic    bool   // a Routine's policy may accept it without a person
	NextRunAt    *time.Time
}

// Attended is a thing that waits, told to whoever it waits for.
type Attended struct {
	Waiting
	WaitsFor string // a person's id, or who may do it
	Why      string // one sentence
	Cost     string // what it costs to wait
	Next     string // what happens without anybody, empty for nothing
	NextAt   *time.Time
	Settle   Call
}

// Call is the one request that settles something.
type Call struct {
	Method string
	Path   string
	Body   map[string]any // nil for none
}

// Attend tells what waits. nextTick is when the automation looks again, nil when nobody knows.
func Attend(w Waiting, nextTick *time.Time) Attended {
	a := Attended{Waiting: w, WaitsFor: "anybody with tasks:write"}
	switch w.Cause {
	case CauseProposal:
		a.attendProposal(nextTick)
	case CauseReview:
		a.WaitsFor = firstOf(w.AcceptedBy, w.UserID, a.WaitsFor)
		a.Why = "Attempt " + strconv.Itoa(w.Attempts) + " succeeded and somebody has to look at its result."
		a.Cost = "The work is paid for and of no use before it is done."
		a.Settle = w.move(task.StatusDone, "Reviewed")
	case CauseFailed:
		a.WaitsFor = firstOf(w.AcceptedBy, w.UserID, a.WaitsFor)
		a.Why = "Attempt " + strconv.Itoa(w.Attempts) + " ended without success: " + oneLine(w.Reason)
		a.Cost = "Nothing works on the Task."
		a.Settle = Call{"POST", w.path() + "/runs", map[string]any{"attempt": w.Attempts + 1}}
	case CauseAutomation:
		a.WaitsFor = firstOf(w.AcceptedBy, w.UserID, a.WaitsFor)
		a.Why = "The automation failed on it " + times(w.Count) + ": " + oneLine(w.Reason)
		a.Cost = "Nothing works on the Task, and every tick tries in vain."
		a.Next, a.NextAt = "The automation tries again.", nextTick
		a.Settle = w.move(task.StatusBacklog, "It cannot be started as it was accepted")
		if w.Status == task.StatusBacklog {
			a.Next, a.NextAt = "", nil
			a.Cost = "Nothing works on the Task."
			a.Settle = w.accept()
		}
	case CauseRoutine:
		a.WaitsFor = firstOf(w.UserID, nil, "anybody with routines:write")
		a.Why = "The latest run of the Routine failed: " + oneLine(w.Reason)
		a.Cost = "What the Routine does is not done."
		if w.NextRunAt != nil {
			a.Next, a.NextAt = "The Routine runs again.", w.NextRunAt
		}
		a.Settle = Call{"POST", "/company/routines/" + w.RoutineID + "/trigger", nil}
	}
	return a
}

func (a *Attended) attendProposal(nextTick *time.Time) {
	a.Why = "It was proposed and nobody has accepted it."
	a.Cost = "The work does not begin."
	a.Settle = a.accept()
	if a.Automatic {
		a.Why = "A Routine proposed it, and it is not accepted yet."
		a.Next, a.NextAt = "The automation accepts it if the Routine's policy allows it.", nextTick
	}
}

func (w *Waiting) path() string { return "/company/tasks/" + w.TaskID }

func (w *Waiting) move(target task.Status, reason string) Call {
	return Call{"POST", w.path() + "/transitions", map[string]any{"target": string(target), "reason": reason}}
}

// accept names the proposed executor; a proposal without one leaves the choice to the person.
func (w *Waiting) accept() Call {
	c := w.move(task.StatusReady, "Accepted")
	c.Body["executor_type"], c.Body["executor_id"] = nil, nil
	if w.ExecutorType != nil {
		c.Body["executor_type"] = string(*w.ExecutorType)
	}
	if w.ExecutorID != nil {
		c.Body["executor_id"] = *w.ExecutorID
	}
	return c
}

func firstOf(a, b *string, otherwise string) string {
	for _, s := range []*string{a, b} {
		if s != nil && *s != "" {
			return *s
		}
	}
	return otherwise
}

func times(n int64) string {
	if n == 1 {
		return "once"
	}
	return strconv.FormatInt(n, 10) + " times"
}

// maxReason is how much of a failure's text is told, in characters.
const maxReason = 200

// oneLine makes a failure's text part of one sentence.
func oneLine(s string) string {
	r := []rune(strings.Join(strings.Fields(s), " "))
	if len(r) > maxReason {
		return string(r[:maxReason]) + "…"
	}
	return string(r)
}
