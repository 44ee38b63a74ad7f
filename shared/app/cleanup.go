package app

import (
	"context"
	"fmt"
	"io"
	"time"

	"companyos/shared/store"
	"companyos/shared/task"
)

// Cleaned is what CleanUp removed, or would remove.
type Cleaned struct {
	DryRun    bool  `json:"dry_run"`
	History   int64 `json:"history"` // lines of the automation's history
	Events    int64 `json:"events"`
	Artifacts int64 `json:"artifacts"` // blobs of finished runs
	Runs      int64 `json:"runs"`      // that they were of
}

// Print writes one line for each kind of thing.
func (c Cleaned) Print(out io.Writer) {
	verb := "removed"
	if c.DryRun {
		verb = "would remove"
	}
	fmt.Fprintf(out, "%s %d lines of automation history\n%s %d events of %d runs\n%s %d artifacts\n", verb, c.History, verb, c.Events, c.Runs, verb, c.Artifacts)
}

const (
	cleanBatch   = 200
	eventBatch   = 2000
	garbageBatch = 500
)

// CleanUp removes what is older than it is kept: the automation's history, and the events, inputs and artifacts of runs. It
// takes nothing of a Task that is accepted or under review, and of one in Backlog only events, since its next attempt goes
// on where the last one ended. It works in batches that a crash may cut anywhere. With dryRun it only counts.
func (c *Company) CleanUp(ctx context.Context, dryRun bool) (Cleaned, error) {
	now := c.now()
	out := Cleaned{DryRun: dryRun}
	var err error
	if dryRun {
		out.History, err = c.DB.CountHistory(ctx, c.Retention.HistoryCutoff(now))
	} else {
		out.History, err = c.deleteHistory(ctx, c.Retention.HistoryCutoff(now))
	}
	if err != nil {
		return out, err
	}
	if !dryRun {
		if _, err := c.DB.DeleteDeliveries(ctx, c.Retention.HistoryCutoff(now)); err != nil {
			return out, err
		}
	}
	if err := c.cleanRuns(ctx, c.Retention.ArtifactCutoff(now), &out); err != nil || dryRun {
		return out, err
	}
	return out, c.deleteGarbage(ctx)
}

// cleanRuns goes through the runs that ended before a moment.
func (c *Company) cleanRuns(ctx context.Context, cutoff time.Time, out *Cleaned) error {
	after := store.OldRun{}
	for {
		runs, err := c.DB.OldRuns(ctx, cutoff, after, cleanBatch)
		if err != nil || len(runs) == 0 {
			return err
		}
		for _, r := range runs {
			if err := c.cleanRun(ctx, &r, out); err != nil {
				return err
			}
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		after = runs[len(runs)-1]
	}
}

func (c *Company) cleanRun(ctx context.Context, r *store.OldRun, out *Cleaned) error {
	if r.Live || r.TaskStatus.Active() {
		return nil
	}
	events, err := c.cleanEvents(ctx, r, out.DryRun)
	if err != nil {
		return err
	}
	forgotten := !r.TaskStatus.Open() && c.Deleter != nil
	if forgotten && !out.DryRun {
		err = c.DB.Transact(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
			forgotten, err = tx.ForgetArtifacts(ctx, r, c.now())
			return err
		})
	}
	if err != nil {
		return err
	}
	if out.Events += events; forgotten {
		out.Artifacts += int64(len(r.Artifacts)) + 1
	}
	if events > 0 || forgotten {
		out.Runs++
	}
	return nil
}

// cleanEvents deletes a run's events from the oldest on, so that what is left never has a gap.
func (c *Company) cleanEvents(ctx context.Context, r *store.OldRun, dryRun bool) (int64, error) {
	first, err := c.DB.FirstEvent(ctx, r.ID)
	if err != nil || first == 0 {
		return 0, err
	}
	if dryRun {
		return r.Events - first + 1, nil
	}
	upto := first - 1
	return inBatches(ctx, eventBatch, func(most int) (int64, error) {
		if upto >= r.Events {
			return 0, nil
		}
		upto += int64(most)
		return c.DB.DeleteEvents(ctx, r.ID, upto)
	})
}

// deleteGarbage deletes the blobs that nothing refers to any more.
func (c *Company) deleteGarbage(ctx context.Context) error {
	if c.Deleter == nil {
		return nil
	}
	for {
		keys, err := c.DB.Garbage(ctx, c.now(), garbageBatch)
		if err != nil || len(keys) == 0 {
			return err
		}
		for _, key := range keys {
			if err := c.Deleter.Delete(ctx, key); err != nil {
				return task.Unavailable("artifacts_unavailable", "An artifact could not be deleted", err)
			}
			if err := c.DB.DeleteGarbage(ctx, key); err != nil {
				return err
			}
		}
	}
}
