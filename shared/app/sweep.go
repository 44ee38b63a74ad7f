package app

import (
	"context"
	"time"

	"companyos/shared/store"
)

// overdueAfter is how long past its due_at a run has to be before its message counts as lost.
const overdueAfter = time.Minute

// SweepRuns wakes runs whose message was lost, at most so many, and says how many. A message too many does no harm.
func (c *Company) SweepRuns(ctx context.Context, most int) (woken int, err error) {
	now, err := c.DB.Now(ctx)
	if err != nil {
		return 0, err
	}
	overdue, err := c.DB.OverdueRuns(ctx, now.Add(-overdueAfter), most)
	if err != nil {
		return 0, err
	}
	return c.wakeAll(ctx, overdue)
}

// wakeBatch is how many runs WakeUnfinished reads at once.
const wakeBatch = 500

// WakeUnfinished wakes every run that still needs a look, for a process that has lost its queue, and says how many.
func (c *Company) WakeUnfinished(ctx context.Context) (woken int, err error) {
	after := ""
	for {
		batch, err := c.DB.UnfinishedRuns(ctx, after, wakeBatch)
		if err != nil || len(batch) == 0 {
			return woken, err
		}
		n, err := c.wakeAll(ctx, batch)
		if woken += n; err != nil {
			return woken, err
		}
		after = batch[len(batch)-1].ID
	}
}

func (c *Company) wakeAll(ctx context.Context, runs []store.WaitingRef) (woken int, err error) {
	for _, r := range runs {
		if err := c.send(ctx, r.ID, r.Sandboxed, 0); err != nil {
			return woken, err
		}
		woken++
	}
	return woken, nil
}
