package app

import (
	"context"
	"time"

	"companyos/shared/store"
	"companyos/shared/task"
)

// cancelDelay is how soon a cancelled run is looked at.
const cancelDelay = 5 * time.Second

// announceCancel sends the wake that comes before a cancel and returns the database's clock at which it was sent. Its
// caller passes that clock to cancelLive. Waking a run for a cancel that does not happen does no harm.
func (c *Company) announceCancel(ctx context.Context, r *task.Run) (now time.Time, err error) {
	if now, err = c.DB.Now(ctx); err != nil {
		return now, err
	}
	return now, c.send(ctx, r.ID, r.Sandboxed, cancelDelay)
}

// cancelLive saves a Task that a transition takes away from its live run, backlog, cancelled or archived, and cancels
// that run in the same transaction. It answers the run's id, empty when none was live or it was being cancelled already.
// at is announceCancel's answer. Like Tx.SaveTask it returns store.ErrChanged when before is not what is stored.
func (c *Company) cancelLive(ctx context.Context, tx *store.Tx, before, after task.Task, at time.Time) (string, error) {
	if before.LiveRunID == nil {
		return "", tx.SaveTask(ctx, &before, &after)
	}
	seen, now, err := tx.RunAndClock(ctx, *before.LiveRunID)
	if err != nil {
		return "", err
	}
	if !now.Before(at.Add(cancelDelay)) {
		return "", task.Unavailable("busy", "The wake of the cancelled run was overtaken", nil)
	}
	run := task.Cancel(seen, at)
	if run.State.Terminal() {
		after = task.Close(after, run, at)
	}
	if err := tx.SaveTask(ctx, &before, &after); err != nil || run.State == seen.State {
		return "", err
	}
	if due := at.Add(cancelDelay); due.Before(run.DueAt) {
		run.DueAt = due
	}
	return run.ID, writeRun(ctx, tx, seen, run, at)
}

// CancelRun asks for the end of a run on behalf of whoever may run its executor. A run that has ended stays as it is, and
// asking is no error. KindNotFound for an unknown run, KindForbidden without the permission.
func (c *Company) CancelRun(ctx context.Context, by task.Caller, runID string) error {
	run, err := c.DB.Run(ctx, runID)
	if err != nil {
		return err
	}
	if err := by.RequireRun(run.ExecutorType, run.ExecutorID); err != nil {
		return err
	}
	after, err := c.change(ctx, runID, func(_ context.Context, v *view) (task.Run, error) {
		return task.Cancel(v.run, v.now), nil
	})
	if err == nil && after.NeedsLook() {
		c.nudge(ctx, &after)
	}
	return err
}
