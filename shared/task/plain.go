package task

import "time"

// A plain run needs no sandbox: one worker takes it, works on it within its lease and settles it.

// workerLost is the contract's text.
const workerLost = "Worker lost and attempt budget exhausted; run was not re-executed."

func nextPlain(r *Run, now time.Time) Step {
	switch r.State {
	case StateRunning:
		if passed(r.LeaseUntil, now) {
			return Step{End: new(failure(EndLost, "", workerLost))}
		}
	case StateCancelling:
		if passed(r.LeaseUntil, now) {
			return Step{End: new(cancelled(*r))}
		}
	case StatePending, StateLaunching, StateCompleted, StateError, StateCancelled:
	}
	return Step{}
}

// Begin gives a waiting plain run to a worker, once. ok is false when it is another's, cancelled, or too late.
func Begin(r Run, worker string, lease time.Duration, now time.Time) (_ Run, ok bool) {
	if r.State == StateRunning && r.ClaimedBy == worker {
		return r, true // this worker asks again, because it does not know what became of its first try
	}
	if r.Sandboxed || r.State != StatePending || r.ClaimedBy != "" || r.CancelAt != nil || !now.Before(r.StartUntil) {
		return r, false
	}
	r.State, r.ClaimedBy, r.ClaimedAt = StateRunning, worker, &now
	r.LeaseUntil, r.UpdatedAt = new(now.Add(lease)), &now
	r.WaitingReason, r.WaitingSince = "", nil
	return r, true
}

// Finish settles a plain run with its worker's outcome; one that is being cancelled is cancelled, whatever the outcome.
// ok is false when the run is not this worker's any more.
func Finish(t Task, r Run, worker string, o Outcome, now time.Time) (_ Task, _ Run, ok bool) {
	if r.Sandboxed || r.ClaimedBy != worker {
		return t, r, false
	}
	switch r.State {
	case StateRunning:
		t, r = Settle(t, r, o, SourceMatch{}, now)
	case StateCancelling:
		end := cancelled(r)
		end.Usage = o.Usage // what was used until then is paid
		t, r = Settle(t, r, end, SourceMatch{}, now)
	case StatePending, StateLaunching, StateCompleted, StateError, StateCancelled:
		return t, r, false
	}
	return t, r, true
}
