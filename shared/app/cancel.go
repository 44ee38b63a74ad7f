package app

import (
	"context"
	"time"

	"companyos/shared/store"
	"companyos/shared/task"
)

// cancelDelay is how soon a cancelled run is looked at.
const cancelDelay = 2 * time.Second

// announceCancel sends the wake that comes before a cancel and returns the database's clock at which it was sent. Its
// caller passes that clock to cancelLive. Waking a run for a cancel that does not happen does no harm.
func (c *Company) announceCancel(ctx context.Context, r *task.Run) (now time.Time, err error) {
	if now, err = c.DB.Now(ctx); err != nil {
		return now, err
	}
	return now, c.send(ctx, r.ID, r.Sandboxed, cancelDelay)
}

// cancelLive cancels the Task's live run inside a transaction that takes the Task away from it: backlog, cancelled or
// archived. t is the Task as it will be saved; the answer is t with the run settled where nothing worked on it, to be
// saved by the caller, and the id of the run that was cancelled, empty when none was live. at is announceCancel's answer.
func (c *Company) cancelLive(ctx context.Context, tx *store.Tx, t task.Task, at time.Time) (task.Task, string, error) {
	if t.LiveRunID == nil {
		return t, "", nil
	}
	before, err := tx.Run(ctx, *t.LiveRunID)
	if err != nil {
		return t, "", err
	}
	after := task.Cancel(before, at)
	if after.State == before.State {
		return t, "", nil // it is being cancelled already
	}
	t = task.Settle(t, after, nil, at)
	return t, after.ID, c.writeRun(ctx, tx, before, after, at)
}
