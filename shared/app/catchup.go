package app

import (
	"context"
	"errors"
	"time"

	"companyos/shared/store"
	"companyos/shared/task"
)

const (
	// catchUpRows is far below the 3,000 rows that a portable transaction may write.
	catchUpRows = 200

	// catchUpBatches bounds what one sweep does. The rest waits for the next.
	catchUpBatches = 400

	// catchUpAfter is how long a parent's change is left alone: longer than a start takes that began before it, so that
	// the start's run is seen and cancelled.
	catchUpAfter = time.Minute
)

// CatchUp gives the rows of Projects and Tasks what the archiving or restoring of their parents added to them, for
// parents that were changed before a moment, and cancels the live runs of children that are hidden. Readers see no
// difference. It goes in batches, any of which may be cut off, and may run more than once at a time.
func (c *Company) CatchUp(ctx context.Context, before time.Time) (rows int, err error) {
	p := newPace(catchUpRows)
	for range catchUpBatches {
		batch, err := c.DB.CascadeBatch(ctx, before, p.size)
		if err != nil || batch == nil {
			return rows, err
		}
		// First the runs: the place that the batch reaches is past them.
		for _, id := range batch.LiveRuns {
			if err := c.cancelHidden(ctx, id); err != nil {
				return rows, err
			}
		}
		began := time.Now()
		err = c.DB.Transact(ctx, func(ctx context.Context, tx *store.Tx) error { return tx.SaveCascadeBatch(ctx, batch) })
		p.took(time.Since(began))
		if errors.Is(err, store.ErrChanged) {
			continue
		}
		if err != nil {
			return rows, err
		}
		rows += batch.Rows()
	}
	return rows, nil
}

// cancelHidden ends a run whose Task nobody can see any more.
func (c *Company) cancelHidden(ctx context.Context, runID string) error {
	after, err := c.change(ctx, runID, func(_ context.Context, v *view) (task.Run, error) {
		return task.Cancel(v.run, v.now), nil
	})
	if err != nil {
		return err
	}
	c.Log.WarnContext(ctx, "a run of an archived Task is cancelled", "run_id", runID, "task_id", after.TaskID)
	if after.NeedsLook() {
		c.nudge(ctx, &after)
	}
	return nil
}
