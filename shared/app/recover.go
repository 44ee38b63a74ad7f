package app

import (
	"context"

	"companyos/shared/store"
	"companyos/shared/task"
)

// Recovered says what recovery found of a Task.
type Recovered struct {
	Action RecoverAction
	RunID  string // empty for nothing
}

// RecoverAction is what recovery did.
type RecoverAction string

// The actions of a recovery. Nothing: no attempt was ever reserved. Observed: the latest attempt is settled.
// AlreadySubmitted: its run was woken again. Reconciled: the Task was settled with what is known of its run.
const (
	RecoverNothing   RecoverAction = "nothing"
	RecoverObserved  RecoverAction = "observed"
	RecoverSubmitted RecoverAction = "already_submitted"
	RecoverSettled   RecoverAction = "reconciled"
)

// runLost is the contract's text for a reservation without a run.
const runLost = "Reserved attempt lost its queue ticket and run; start the next attempt to retry."

// RecoverTask settles what a Task's latest reservation left behind, or wakes its run again. It never creates a run.
// KindNotFound for a missing Task; KindConflict for a run of another session or owner.
func (c *Company) RecoverTask(ctx context.Context, taskID string) (Recovered, error) {
	t, err := c.DB.Task(ctx, taskID)
	if err != nil || t.JobID == nil {
		return Recovered{Action: RecoverNothing}, err
	}
	out := Recovered{Action: RecoverObserved, RunID: *t.JobID}
	run, err := c.DB.Run(ctx, *t.JobID)
	switch {
	case task.KindOf(err) == task.KindNotFound:
		lost := task.Run{ID: *t.JobID, TaskID: t.ID, State: task.StateCancelled, Content: runLost, ContentType: task.ContentType}
		return c.reconcile(ctx, out, lost)
	case err != nil:
		return out, err
	case run.SessionID != t.SessionID:
		return out, task.Conflictf("run_conflict", "Start the next attempt.", "Run identifier conflicts with another session")
	case !samePerson(run.UserID, t.SessionOwner()):
		return out, task.Conflictf("run_conflict", "Start the next attempt.", "Task run owner does not match its reservation")
	case run.State.Terminal():
		return c.reconcile(ctx, out, run)
	}
	out.Action = RecoverSubmitted
	return out, c.send(ctx, run.ID, run.Sandboxed, 0)
}

// reconcile settles the Task with a run that has ended, where that did not happen together.
func (c *Company) reconcile(ctx context.Context, out Recovered, run task.Run) (Recovered, error) {
	err := c.DB.Transact(ctx, func(ctx context.Context, tx *store.Tx) error {
		t, err := tx.Task(ctx, run.TaskID)
		if err != nil {
			return err
		}
		closed := task.Close(t.Task, run, c.now())
		if closed.LiveRunID == t.LiveRunID && closed.Result == t.Result {
			return nil
		}
		out.Action = RecoverSettled
		return tx.SaveTask(ctx, &t.Task, &closed)
	})
	return out, err
}

func samePerson(a, b *string) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}
