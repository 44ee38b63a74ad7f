package app

import (
	"context"
	"time"

	"companyos/shared/store"
)

// Followed is what happened in a run after a point.
type Followed struct {
	Events   []store.Event
	Next     int64 // what to ask after next
	Terminal bool  // the run has ended, and these are the last events so far
}

// How often a run is looked at while somebody waits for its next event.
const followPoll = 500 * time.Millisecond

// FollowRun returns the events of a run with a sequence number above after, at most so many. When there are none yet it
// waits for the first, so long and while the run goes on. KindNotFound for an unknown run.
func (c *Company) FollowRun(ctx context.Context, runID string, after int64, most int, wait time.Duration) (Followed, error) {
	deadline := time.Now().Add(wait)
	for {
		run, err := c.DB.Run(ctx, runID)
		if err != nil {
			return Followed{}, err
		}
		events, err := c.DB.EventsAfter(ctx, runID, after, most)
		if err != nil {
			return Followed{}, err
		}
		// The state was read first, so a run that is over has no event that this answer misses.
		out := Followed{Events: events, Next: after, Terminal: run.State.Terminal() && len(events) < most}
		if len(events) > 0 {
			out.Next = events[len(events)-1].Seq
		}
		if len(events) > 0 || out.Terminal || !time.Now().Before(deadline) {
			return out, nil
		}
		select {
		case <-ctx.Done():
			return out, nil
		case <-time.After(followPoll):
		}
	}
}
