package task

import "time"

// The contents of a cancelled run.
const (
	CancelledBefore = "cancelled before execution"
	CancelledRun    = "Run cancelled"
)

// Cancel asks for the end of a run: what nothing works on is CANCELLED at once, anything else is CANCELLING until nothing
// of it runs any more. A run that is cancelling or terminal stays as it is.
func Cancel(r Run, now time.Time) Run {
	switch r.State {
	case StatePending:
		r.CancelAt = &now
		return r.end(cancelled(r), now)
	case StateLaunching:
		r.CancelAt, r.State = &now, StateCancelling
	case StateRunning:
		r.CancelAt = &now
		if r.StoppedAt != nil {
			return r.end(cancelled(r), now)
		}
		r.State = StateCancelling
	case StateCancelling, StateCompleted, StateError, StateCancelled:
		return r
	}
	r.UpdatedAt = &now
	return r
}

func cancelled(r Run) Outcome {
	message := CancelledRun
	if r.ClaimedBy == "" {
		message = CancelledBefore
	}
	return Outcome{State: StateCancelled, Ended: Ended{Kind: EndCancelled, Message: message}}
}
