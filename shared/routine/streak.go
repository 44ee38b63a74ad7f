package routine

import "time"

// Streak is how often in a row the automation failed on a Task for the same reason, while the Task stayed as it was.
type Streak struct {
	ID           string
	TaskID       string
	ProductID    string
	Reason       string
	Count        int64
	TaskRevision int64 // the Task as it was: any change of it ends the streak
	Active       bool
	TriggeredAt  time.Time
	CompletedAt  time.Time
}

// Failure is one failed outcome of a tick.
type Failure struct {
	TaskID       string
	ProductID    string
	Reason       string
	TaskRevision int64 // after everything that the tick did to the Task
}

// Count adds a failure to a Task's latest streak, nil for none: one more of the same, or the first of another. id is the
// new streak's.
func Count(latest *Streak, f Failure, id string, now time.Time) Streak {
	if latest != nil && latest.Active && latest.Reason == f.Reason && latest.TaskRevision == f.TaskRevision {
		s := *latest
		s.Count++
		s.CompletedAt = now
		return s
	}
	return Streak{
		ID: id, TaskID: f.TaskID, ProductID: f.ProductID, Reason: f.Reason, Count: 1, TaskRevision: f.TaskRevision, Active: true,
		TriggeredAt: now, CompletedAt: now,
	}
}
