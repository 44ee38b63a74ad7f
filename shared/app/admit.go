package app

import (
	"context"
	"time"

	"companyos/shared/executor"
	"companyos/shared/routine"
	"companyos/shared/task"
)

// admitDelay is how soon an admitted run is looked at by a message of its own, in case its launch never happens.
const admitDelay = 5 * time.Second

// admitOldest gives a free slot to the run that has waited longest, and launches it. A run that may not start any more
// ends here, and the next one has its turn.
func (c *Company) admitOldest(ctx context.Context) error {
	for range maxLooks {
		oldest, err := c.DB.OldestPending(ctx)
		if err != nil || oldest == nil || oldest.Taken >= c.MaxSandboxes {
			return err
		}
		// The wake comes first: a crash between the admission and the launch leaves a run that is looked at.
		if err := c.send(ctx, oldest.ID, true, admitDelay); err != nil {
			return err
		}
		admitted, err := c.admit(ctx, oldest.ID, oldest.Now.Add(admitDelay))
		if err != nil {
			return err
		}
		if admitted.State == task.StateLaunching {
			return c.launch(ctx, &admitted)
		}
	}
	return nil
}

// admit takes a slot for a run whose wake was sent. It answers the zero Run for one that somebody else admitted or that had no slot.
func (c *Company) admit(ctx context.Context, runID string, wake time.Time) (task.Run, error) {
	secret, won := newSecret(), false
	run, err := c.changeAfterWake(ctx, runID, wake, func(ctx context.Context, v *view) (task.Run, error) {
		won = false
		t, err := v.task(ctx)
		if err != nil {
			return v.run, err
		}
		revoked, err := c.revoked(ctx, v, t)
		if err != nil {
			return v.run, err
		}
		if revoked != "" {
			won = true
			run, _ := task.Revoke(v.run, revoked, v.now)
			return run, nil
		}
		taken, err := v.tx.TakenSlots(ctx)
		if err != nil {
			return v.run, err
		}
		slot, free := task.FreeSlot(taken, c.MaxSandboxes)
		run, ok := task.Admit(v.run, secret, c.DispatchTimeout, v.now)
		if !ok || !free {
			return v.run, nil
		}
		won = true
		return run, v.tx.TakeSlot(ctx, slot, run.ID, v.now)
	})
	if !won {
		run = task.Run{}
	}
	return run, err
}

// startableNow says whether the registry still holds the run's executor as one that can be started.
func (c *Company) startableNow(r *task.Run) bool {
	ex, err := c.Executors.Registry().Select(r.ExecutorType, r.ExecutorID)
	return err == nil && executor.CheckStart(ex) == nil && ex.Sandboxed() == r.Sandboxed
}

// revoked says why a waiting run may not start any more, empty when it may: its Task or its executor is not what it was,
// or the policy that accepted the Task does not hold.
func (c *Company) revoked(ctx context.Context, v *view, t *task.Task) (string, error) {
	switch {
	case v.run.State != task.StatePending:
		return "", nil
	case task.Revoked(t, &v.run) || !c.startableNow(&v.run):
		return task.ReasonRevoked, nil
	}
	read := func(ctx context.Context, id string) (routine.Routine, error) {
		r, _, err := v.tx.Routine(ctx, id)
		return r, err
	}
	err := c.policyHolds(ctx, read, t, routine.LatestAcceptance(t))
	if reason, refused := isRefusal(err); refused {
		return reason, nil
	}
	return "", err
}
