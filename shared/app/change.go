package app

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/google/uuid"

	"companyos/shared/executor"
	"companyos/shared/store"
	"companyos/shared/task"
)

// view is a run inside a transaction, with what a decision about it may need. Everything is of one snapshot.
type view struct {
	c     *Company
	tx    *store.Tx
	run   task.Run
	now   time.Time // the database's clock
	place *store.TaskInPlace
}

// task reads the run's Task, once.
func (v *view) task(ctx context.Context) (*task.Task, error) {
	if v.place == nil {
		place, err := v.tx.Task(ctx, v.run.TaskID)
		if err != nil {
			return nil, err
		}
		v.place = &place
	}
	return &v.place.Task, nil
}

// source is the Product's git Source for the repository that the run was started with. A Task that has its pin needs none.
func (v *view) source(ctx context.Context) (m task.SourceMatch, err error) {
	t, err := v.task(ctx)
	if err != nil || !v.run.Sandboxed || t.Checkout != nil {
		return m, err
	}
	sources, err := v.tx.GitSources(ctx, v.run.ProductID)
	if err != nil {
		return m, err
	}
	found, err := executor.MatchSource(v.c.started(&v.run), sourceRefs(sources))
	if rule, ok := errors.AsType[*executor.RuleError](err); ok {
		return task.SourceMatch{Problem: rule.Detail}, nil
	}
	return task.SourceMatch{ID: found.ID}, err
}

// started is the executor of a run with the repository that the run was started with, whatever the registry says today.
// One that is gone from the registry counts as having had its token.
func (c *Company) started(r *task.Run) executor.Executor {
	ex, ok := c.Executors.Registry().Lookup(r.ExecutorType, r.ExecutorID)
	if !ok || !ex.Sandboxed() {
		ex = executor.Executor{Kind: r.ExecutorType, ID: r.ExecutorID, Sandbox: &executor.Sandbox{Secrets: []string{executor.SecretGitHubToken}}}
	}
	ex.Repository = &executor.Repository{URL: r.Checkout.URL, Branch: r.Checkout.Branch}
	return ex
}

// decision says what becomes of a run. It is asked again, with fresh rows, when somebody else wrote meanwhile, so it has
// no effect but its answer and what it sets in its caller.
type decision func(ctx context.Context, v *view) (task.Run, error)

// errWakeFirst ends a transaction that has to be preceded by a wake.
var errWakeFirst = errors.New("a wake has to be sent first")

// maxChangeTries bounds how often change begins again for a wake or for a COMMIT of which nobody knows the outcome.
const maxChangeTries = 5

// change decides about a run and writes the decision, its events, its slot and its Task in one transaction. Where the
// decision brings the next look nearer, the transaction begins again after a wake was sent that arrives then.
func (c *Company) change(ctx context.Context, runID string, decide decision) (task.Run, error) {
	return c.changeAfterWake(ctx, runID, time.Time{}, decide)
}

// changeAfterWake is change after a wake that arrives then. Once it may have arrived it counts as consumed.
func (c *Company) changeAfterWake(ctx context.Context, runID string, arrives time.Time, decide decision) (after task.Run, err error) {
	for range maxChangeTries {
		var soon, clock time.Time
		err = c.DB.Transact(ctx, func(ctx context.Context, tx *store.Tx) error {
			run, now, err := tx.RunAndClock(ctx, runID)
			if err != nil {
				return err
			}
			v := &view{c: c, tx: tx, run: run, now: now}
			if after, err = decide(ctx, v); err != nil || reflect.DeepEqual(v.run, after) {
				return err
			}
			if hastened, yes := task.Hasten(after, now); yes {
				if !now.Before(arrives) || hastened.DueAt.Before(arrives) {
					soon, clock = hastened.DueAt, now
					return errWakeFirst
				}
				if arrives.Before(after.DueAt) {
					after.DueAt = arrives
				}
			}
			return v.write(ctx, after)
		})
		switch {
		case errors.Is(err, errWakeFirst):
			if err := c.send(ctx, runID, after.Sandboxed, soon.Sub(clock)); err != nil {
				return after, err
			}
			arrives = soon
		case errors.Is(err, store.ErrUnknownOutcome):
			// Reading the run again tells: a decision that was written is not made twice.
		default:
			return after, err
		}
	}
	return after, task.Unavailable("busy", "The run keeps changing", err)
}

// write stores what became of the run. Lock order: task, run, slot.
func (v *view) write(ctx context.Context, after task.Run) error {
	if after.State != v.run.State && !v.run.State.MayBecome(after.State) {
		return fmt.Errorf("run %s: %s may not become %s", v.run.ID, v.run.State, after.State)
	}
	if !v.run.State.Terminal() && after.State.Terminal() {
		t, err := v.task(ctx)
		if err != nil {
			return err
		}
		closed := task.Close(*t, after, v.now)
		if closed.LiveRunID != t.LiveRunID || closed.Result != t.Result {
			if err := v.tx.SaveTask(ctx, t, &closed); err != nil {
				return err
			}
		}
	}
	return writeRun(ctx, v.tx, v.run, after, v.now)
}

// writeRun stores a run with its events, and gives its slot back when its sandbox has stopped.
func writeRun(ctx context.Context, tx *store.Tx, before, after task.Run, now time.Time) error {
	if err := tx.SaveRun(ctx, &before, &after); err != nil {
		return fmt.Errorf("run %s: %w", before.ID, err)
	}
	if before.HoldsSlot() && !after.HoldsSlot() {
		if err := tx.FreeSlot(ctx, before.ID); err != nil {
			return err
		}
	}
	return tx.AddEvents(ctx, before.ID, eventsOf(&before, &after, now))
}

// send wakes whoever advances a run.
func (c *Company) send(ctx context.Context, runID string, sandboxed bool, delay time.Duration) error {
	id, err := uuid.Parse(runID)
	if err != nil {
		return fmt.Errorf("run id %q: %w", runID, err)
	}
	queue := c.Work
	if sandboxed {
		queue = c.Attempts
	}
	if err := queue.Send(ctx, id, delay); err != nil {
		return task.Unavailable("queue_unavailable", "The queue did not take the run", err)
	}
	return nil
}

// nudge wakes a run early, where a lost wake costs time only.
func (c *Company) nudge(ctx context.Context, r *task.Run) {
	if err := c.send(ctx, r.ID, r.Sandboxed, 0); err != nil {
		c.Log.WarnContext(ctx, "a run was not woken early", "run_id", r.ID, "error", err)
	}
}
