package app

import (
	"context"
	"errors"
	"time"

	"companyos/shared/routine"
	"companyos/shared/task"
)

// The sweep of a deployment comes at every full hour and fires what is due then. A Routine whose time comes between two
// sweeps is woken by a message that names it in place of a run, and its firing sends the next. A message lasts until the next
// sweep at most, which begins anew: so a lost one costs a Routine an hour at most, a second one does nothing, and while no
// Routine fires within the hour nothing is sent.

// untilSweep is the next full hour.
func untilSweep(now time.Time) time.Time { return now.Truncate(time.Hour).Add(time.Hour) }

// wakeRoutines bounds how many Routines one WakeRoutines wakes. The others fire at the next sweep.
const wakeRoutines = 1000

// WakeRoutines sends what wakes the Routines whose time comes before the next sweep.
func (c *Company) WakeRoutines(ctx context.Context) error {
	now := c.now()
	upcoming, err := c.DB.UpcomingRoutines(ctx, untilSweep(now), wakeRoutines)
	if err != nil {
		return err
	}
	var failed []error
	for _, r := range upcoming {
		failed = append(failed, c.send(ctx, r.ID, false, r.NextRunAt.Sub(now)))
	}
	return errors.Join(failed...)
}

// wakeRoutine sends what wakes a Routine at its next time, if that is before the next sweep. A message that is lost here is
// what a sweep is for.
func (c *Company) wakeRoutine(ctx context.Context, r *routine.Routine) {
	now := c.now()
	if !r.Enabled || r.NextRunAt == nil || !r.NextRunAt.Before(untilSweep(now)) {
		return
	}
	if err := c.send(ctx, r.ID, false, r.NextRunAt.Sub(now)); err != nil {
		c.Log.WarnContext(ctx, "a Routine fires at the next sweep", "routine_id", r.ID, "error", err)
	}
}

// fireWoken fires a Routine that a message names, if its time has come. known is false where the message names none. A queue
// keeps a message for a quarter of an hour at most, so it may come early: then it is sent again.
func (c *Company) fireWoken(ctx context.Context, id string) (known bool, err error) {
	r, err := c.DB.Routine(ctx, id)
	if task.KindOf(err) == task.KindNotFound {
		return false, nil
	}
	if err != nil {
		return true, err
	}
	if !r.Enabled || r.NextRunAt == nil {
		return true, nil
	}
	if r.NextRunAt.After(c.now()) {
		c.wakeRoutine(ctx, &r)
		return true, nil
	}
	if err := c.fireDue(ctx, id); err != nil && !errors.Is(err, errUnchanged) {
		return true, err
	}
	return true, nil
}
