package app

import (
	"context"
	"errors"
	"time"

	"companyos/shared/store"
)

// overdueAfter is how long past its due_at a run has to be before its message counts as lost.
const overdueAfter = time.Minute

// sweepRuns is how many overdue runs one Sweep wakes. More than that wait for the next.
const sweepRuns = 500

// Sweep does what nobody else does in time: it wakes the runs whose message was lost, gives the children of archived and
// restored parents their rows, fires the Routines whose time has come, forgets old answers and reads the executors again. Its
// parts do not depend on each other.
func (c *Company) Sweep(ctx context.Context) error {
	now, err := c.DB.Now(ctx)
	if err != nil {
		return err
	}
	wake := c.wakeOverdue(ctx, now)
	_, catchUp := c.CatchUp(ctx, now.Add(-catchUpAfter))
	fire := c.FireDue(ctx)
	_, forget := c.ForgetAnswers(ctx)
	_ = c.ReloadExecutors(ctx) // the log says what is wrong with them; the ones before stay in use
	return errors.Join(wake, catchUp, fire, forget)
}

// wakeOverdue wakes the runs that are overdue. A message too many does no harm.
func (c *Company) wakeOverdue(ctx context.Context, now time.Time) error {
	overdue, err := c.DB.OverdueRuns(ctx, now.Add(-overdueAfter), sweepRuns)
	if err != nil || len(overdue) == 0 {
		return err
	}
	c.Log.WarnContext(ctx, "runs are overdue", "runs", len(overdue))
	return c.wakeAll(ctx, overdue)
}

// wakeBatch is how many runs WakeAll reads at once.
const wakeBatch = 500

// WakeAll wakes every run that still needs a look, now and when it is due, for a process that has lost its queue.
func (c *Company) WakeAll(ctx context.Context) error {
	after := ""
	for {
		batch, err := c.DB.UnfinishedRuns(ctx, after, wakeBatch)
		if err != nil || len(batch) == 0 {
			return err
		}
		if err := c.wakeAll(ctx, batch); err != nil {
			return err
		}
		after = batch[len(batch)-1].ID
	}
}

func (c *Company) wakeAll(ctx context.Context, runs []store.WaitingRef) error {
	now := c.Clock()
	for _, r := range runs {
		if err := c.send(ctx, r.ID, r.Sandboxed, 0); err != nil {
			return err
		}
		if !r.DueAt.After(now) {
			continue
		}
		if err := c.send(ctx, r.ID, r.Sandboxed, r.DueAt.Sub(now)); err != nil {
			return err
		}
	}
	return nil
}

// foldBatches bounds how many batches of counters one FoldCounts adds up. The rest waits for the next.
const foldBatches = 500

// FoldCounts adds what was counted since the last time to the counters.
func (c *Company) FoldCounts(ctx context.Context) error {
	for range foldBatches {
		if n, err := c.DB.FoldCounts(ctx); err != nil || n == 0 {
			return err
		}
	}
	return nil
}
