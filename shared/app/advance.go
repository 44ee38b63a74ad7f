package app

import (
	"context"
	"time"

	"companyos/shared/sandbox"
	"companyos/shared/task"
)

// maxLooks bounds the steps of one message; what is left is done at the next.
const maxLooks = 6

// Advance looks at a run and does what is due: it settles what passed a deadline, starts, asks about and stops sandboxes,
// sends the run's next message, and at its end admits the oldest run that waits. Anybody may call it at any time, any
// number of times. An unknown run is dropped: its reservation did not happen, or not yet, and another wake follows then.
func (c *Company) Advance(ctx context.Context, runID string) error {
	run, now, err := c.look(ctx, runID)
	switch {
	case task.KindOf(err) == task.KindNotFound:
		c.Log.InfoContext(ctx, "a message names an unknown run", "run_id", runID)
	case err != nil:
		return err
	default:
		if err := c.remind(ctx, &run, now); err != nil {
			return err
		}
	}
	if c.Sandboxes == nil {
		return nil
	}
	return c.admitOldest(ctx)
}

// look does what is due for a run until nothing is, and returns the run as it was seen last with the clock of then.
func (c *Company) look(ctx context.Context, runID string) (run task.Run, now time.Time, err error) {
	for range maxLooks {
		if run, now, err = c.DB.RunAndClock(ctx, runID); err != nil {
			return run, now, err
		}
		step := task.Next(run, c.DispatchTimeout, now)
		var done bool
		switch {
		case step.End != nil:
			done, err = c.settleDue(ctx, &run, step.Announced)
		case step.Look == task.LookNone, c.Sandboxes == nil:
			return run, now, nil
		case step.Look == task.LookCall:
			done, err = c.recall(ctx, &run)
		default:
			done, err = c.observe(ctx, &run, step.Look)
		}
		if err != nil || done {
			return run, now, err
		}
	}
	return run, now, nil
}

// settleDue settles a run whose deadline passed: by the newest announced result that is really there, if one may count,
// else by the deadline. done is true when that cannot be told now.
func (c *Company) settleDue(ctx context.Context, seen *task.Run, announced bool) (done bool, err error) {
	var found *reported
	if announced {
		if found, err = c.announcedResult(ctx, seen); err != nil {
			c.Log.WarnContext(ctx, "a run waits for the artifact store", "run_id", seen.ID, "error", err)
			return true, nil
		}
	}
	_, err = c.change(ctx, seen.ID, func(ctx context.Context, v *view) (task.Run, error) {
		step := task.Next(v.run, c.DispatchTimeout, v.now)
		if step.End == nil || step.Announced && !announced {
			return v.run, nil
		}
		outcome, run := *step.End, v.run
		if found != nil && step.Announced && run.Launch == seen.Launch {
			outcome, run = found.outcome, run.WithResult(found.artifacts)
		}
		t, err := v.task(ctx)
		if err != nil {
			return v.run, err
		}
		source, err := v.source(ctx)
		if err != nil {
			return v.run, err
		}
		_, run = task.Settle(*t, run, outcome, source, v.now)
		return run, nil
	})
	return false, err
}

// observe asks about the run's sandbox and records the answer. done is true when there was none to be had, or when
// nothing changed: then it is asked again at the next look.
func (c *Company) observe(ctx context.Context, run *task.Run, look task.Look) (done bool, err error) {
	seen, err := c.ask(ctx, run, look)
	if err != nil {
		c.Log.WarnContext(ctx, "the launcher did not answer", "run_id", run.ID, "look", look, "error", err)
		return true, nil
	}
	var stop []string
	secret := newSecret()
	after, err := c.change(ctx, run.ID, func(_ context.Context, v *view) (after task.Run, _ error) {
		after, stop = task.Observe(v.run, run.Launch, seen, secret, v.now)
		return after, nil
	})
	if err != nil {
		return false, err
	}
	for _, handle := range stop {
		c.stop(ctx, run.ID, handle)
	}
	progress := after.SandboxARN != run.SandboxARN || after.Launch != run.Launch || after.State != run.State ||
		(after.StoppedAt != nil) != (run.StoppedAt != nil)
	return !progress || len(stop) > 0, nil
}

func (c *Company) ask(ctx context.Context, run *task.Run, look task.Look) ([]task.Seen, error) {
	if look == task.LookDescribe {
		status, err := c.Sandboxes.Describe(ctx, run.SandboxARN)
		if err != nil {
			return nil, err
		}
		status.Handle = run.SandboxARN // a launcher that knows nothing of it may leave it out
		return []task.Seen{seenOf(status)}, nil
	}
	all, err := c.Sandboxes.List(ctx, run.ID, run.Launch)
	if err != nil {
		return nil, err
	}
	seen := make([]task.Seen, len(all))
	for i, s := range all {
		seen[i] = seenOf(s)
	}
	return seen, nil
}

func seenOf(s sandbox.Status) task.Seen {
	return task.Seen{
		Handle: s.Handle, Alive: !s.State.Stopped(), Missing: s.State == sandbox.StateMissing, Reason: s.Reason, Detail: s.Detail, Image: s.Image,
	}
}

// stop places the order to stop a sandbox. One that did not arrive is placed again at the next look.
func (c *Company) stop(ctx context.Context, runID, handle string) {
	if err := c.Sandboxes.Stop(ctx, handle, "the run is over"); err != nil {
		c.Log.WarnContext(ctx, "a sandbox was not told to stop", "run_id", runID, "handle", handle, "error", err)
	}
}

// remind sends the run's next message when due_at has passed, and moves due_at to the moment at which it arrives. A
// message that finds due_at in the future sends none: so two chains of messages become one when they meet. The message
// comes first, so a crash in between leaves two chains, never none.
func (c *Company) remind(ctx context.Context, run *task.Run, now time.Time) error {
	if !run.NeedsLook() || run.DueAt.After(now) {
		return nil
	}
	due := task.NextDue(run, now)
	if err := c.send(ctx, run.ID, run.Sandboxed, due.Sub(now)); err != nil {
		return err
	}
	_, err := c.DB.MoveDue(ctx, run.ID, run.DueAt, due)
	return err
}
