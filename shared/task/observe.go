package task

import "time"

// The reasons why a run waits.
const (
	WaitingSlot      = "slot"
	WaitingCapacity  = "capacity"
	WaitingThrottled = "throttled"
)

// Seen is a sandbox as its launcher sees it.
type Seen struct {
	Handle  string
	Alive   bool    // it starts or runs
	Missing bool    // the launcher knows nothing of it
	Reason  EndKind // why it stopped, empty when it ended by itself
	Detail  string
	Image   string // what it runs, empty where the launcher does not say
}

// BeginCall puts a call of a launch in flight. ok is false when another call of this launch is, or the launch is over.
func BeginCall(r Run, launch int, callTimeout time.Duration, now time.Time) (_ Run, ok bool) {
	if r.State != StateLaunching || r.Launch != launch || Next(r, callTimeout, now).Look != LookCall {
		return r, false
	}
	r.CallingUntil = new(now.Add(callTimeout))
	return r, true
}

// Called records the sandbox that a call of a launch answered. stop: nobody wants it, since the launch is over or has
// another one.
func Called(r Run, launch int, handle string, now time.Time) (_ Run, stop bool) {
	if r.Launch == launch && r.SandboxARN == "" && r.HoldsSlot() {
		r.SandboxARN, r.CallingUntil, r.UpdatedAt = handle, nil, &now
		r.WaitingReason, r.WaitingSince = "", nil
	}
	wanted := (r.State == StateLaunching || r.State == StateRunning) && r.Launch == launch && r.SandboxARN == handle
	return r, !wanted
}

// CallFailed records that a call of a launch certainly started nothing: no capacity is tried again with the next launch,
// anything else ends the run. ok is false when the launch is over or known to run.
func CallFailed(r Run, launch int, kind EndKind, secret string, now time.Time) (_ Run, ok bool) {
	if r.State != StateLaunching || r.Launch != launch || r.ClaimedBy != "" || r.SandboxARN != "" {
		return r, false
	}
	return r.stopUnclaimed(Seen{Reason: kind}, secret, now), true
}

// CallUnsettled records a call of which nobody knows what it did: the same bytes again, later.
func CallUnsettled(r Run, launch int, throttled bool, now time.Time) (_ Run, ok bool) {
	if r.State != StateLaunching || r.Launch != launch || r.CallingUntil == nil {
		return r, false
	}
	r.CallingUntil, r.UpdatedAt = nil, &now
	if throttled {
		r = r.waits(WaitingThrottled, now)
	}
	return r, true
}

func (r Run) waits(reason string, now time.Time) Run {
	if r.WaitingReason != reason {
		r.WaitingReason, r.WaitingSince = reason, &now
	}
	return r
}

// Observe records what the launcher says about a launch: the answer to LookList or LookDescribe. stop lists the
// sandboxes to stop.
func Observe(r Run, launch int, seen []Seen, secret string, now time.Time) (_ Run, stop []string) {
	if r.Launch != launch || !r.HoldsSlot() {
		return r, alive(seen)
	}
	if r.SandboxARN == "" {
		return r.adopt(seen, secret, now)
	}
	for _, s := range seen {
		if s.Handle == r.SandboxARN {
			r = r.withImage(s.Image)
		}
		switch {
		case s.Handle != r.SandboxARN:
			continue
		case s.Alive:
			if r.wantsStop(now) {
				return r, alive(seen)
			}
		case s.Missing && now.Before(r.TokenUntil.Add(listLag-TokenLife)):
			return r, nil // a launcher may not know yet what it has just started
		default:
			return r.stopped(s, secret, now), nil
		}
	}
	return r, nil
}

// withImage notes what the run's sandbox runs.
func (r Run) withImage(image string) Run {
	info := SandboxInfo{}
	if r.SandboxInfo != nil {
		info = *r.SandboxInfo
	}
	if image != "" && info.Image != image {
		info.Image = image
		r.SandboxInfo = &info
	}
	return r
}

// adopt takes a sandbox of the launch from a list. An empty list counts as stopped once nothing of the launch can
// arrive any more.
func (r Run) adopt(seen []Seen, secret string, now time.Time) (Run, []string) {
	if len(seen) == 0 {
		if now.Before(r.TokenUntil.Add(listLag)) {
			return r, nil
		}
		return r.stopped(Seen{}, secret, now), nil
	}
	pick := seen[0]
	for _, s := range seen {
		if s.Alive {
			pick = s
			break
		}
	}
	r.SandboxARN, r.CallingUntil, r.UpdatedAt = pick.Handle, nil, &now
	r = r.withImage(pick.Image)
	if r.wantsStop(now) {
		return r, alive(seen)
	}
	return r, nil
}

// wantsStop says whether a sandbox that runs is to end: the run is over or being cancelled and the grace has passed, or
// its token expired before anything claimed it.
func (r *Run) wantsStop(now time.Time) bool {
	switch r.State {
	case StateLaunching:
		return passed(r.TokenUntil, now)
	case StateCancelling, StateCompleted, StateError, StateCancelled:
		end := r.graceEnd()
		return end == nil || passed(end, now)
	case StatePending, StateRunning:
	}
	return false
}

func alive(seen []Seen) (handles []string) {
	for _, s := range seen {
		if s.Alive {
			handles = append(handles, s.Handle)
		}
	}
	return handles
}

// stopped records that nothing of the present launch runs any more. Here and nowhere else a slot is given back, or kept
// for the next launch.
func (r Run) stopped(s Seen, secret string, now time.Time) Run {
	if r.State == StateLaunching {
		return r.stopUnclaimed(s, secret, now)
	}
	if s.Reason == "" {
		s.Reason = EndLost
	}
	r.StoppedAt, r.StopReason, r.UpdatedAt = &now, string(s.Reason), &now
	if s.Detail != "" {
		r.StopReason += ": " + s.Detail
	}
	r.CallingUntil, r.LaunchToken = nil, ""
	if r.State == StateCancelling {
		return r.end(cancelled(r), now)
	}
	return r
}

// stopUnclaimed goes on with the next launch after a stop that says nothing about the work: no capacity, Spot, or a
// token that nobody claimed in time. Any other stop before the claim ends the run.
func (r Run) stopUnclaimed(s Seen, secret string, now time.Time) Run {
	again := s.Reason == EndNoCapacity || s.Reason == EndInterrupted || passed(r.TokenUntil, now)
	if again && now.Before(r.StartUntil) {
		if s.Reason == EndNoCapacity {
			r = r.waits(WaitingCapacity, now)
		}
		return r.nextLaunch(secret, now)
	}
	o := stopFailure(s.Reason, s.Detail)
	if again {
		o = startTimeout(&r)
	}
	r.StoppedAt, r.StopReason, r.CallingUntil = &now, string(o.Ended.Kind), nil
	return r.end(o, now)
}
