package app

import (
	"context"
	"time"

	"companyos/shared/sandbox"
	"companyos/shared/task"
)

// orphanAge is how long a sandbox may run before its run has to be known: a moment longer than any start takes.
const orphanAge = 15 * time.Minute

// StopOrphans goes through what runs and stops what nobody wants: sandboxes of an earlier launch, and of a run that is
// not there. That of a settled run is its run's to stop, which is looked at here once more. It answers how many it
// stopped.
func (c *Company) StopOrphans(ctx context.Context, running []sandbox.Status) (stopped int, err error) {
	now, err := c.DB.Now(ctx)
	if err != nil {
		return 0, err
	}
	for _, s := range running {
		run, err := c.DB.Run(ctx, s.RunID)
		switch {
		case task.KindOf(err) == task.KindNotFound:
			if s.StartedAt.IsZero() || now.Sub(s.StartedAt) < orphanAge {
				continue
			}
		case err != nil:
			return stopped, err
		case s.Launch >= run.Launch:
			if run.State.Terminal() {
				if err := c.Advance(ctx, run.ID); err != nil {
					return stopped, err
				}
			}
			continue
		}
		c.Log.WarnContext(ctx, "a sandbox that nobody wants", "run_id", s.RunID, "launch", s.Launch, "handle", s.Handle)
		c.stop(ctx, s.RunID, s.Handle)
		stopped++
	}
	return stopped, nil
}
