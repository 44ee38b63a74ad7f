package task

import (
	"slices"
	"strings"
	"time"
)

// Look is whom Advance asks about a run.
type Look string

// Whom to ask. Call: start the sandbox of the present launch, with the same bytes as before. List: no handle is known,
// ask for all sandboxes of the launch. Describe: ask about the sandbox that is known.
const (
	LookNone     Look = ""
	LookCall     Look = "call"
	LookList     Look = "list"
	LookDescribe Look = "describe"
)

// Step is what is due for a run.
type Step struct {
	End       *Outcome // settle it so
	Announced bool     // unless a result that was announced and uploaded says better
	Look      Look
}

const (
	// listLag is how long after the end of a launch token an empty list proves nothing, and how long after a launch
	// nobody believes that its sandbox is missing.
	listLag = time.Minute
	// reportGrace is how long after its sandbox's stop a run waits for a report that is under way.
	reportGrace = 60 * time.Second
)

// Next says what is due for a run as it is stored. It looks at deadlines first, since they need nobody's answer.
func Next(r Run, callTimeout time.Duration, now time.Time) Step {
	switch {
	case !r.NeedsLook():
		return Step{}
	case (r.State == StatePending || r.State == StateLaunching) && !now.Before(r.StartUntil):
		return Step{End: new(startTimeout(&r))}
	case !r.Sandboxed:
		return nextPlain(&r, now)
	case r.State == StatePending:
		return Step{}
	case r.State == StateRunning && passed(r.RunUntil, now):
		return Step{End: new(failure(EndRunTimeout, "run", "The run limit passed without a result.")), Announced: true}
	case r.State == StateRunning && r.StoppedAt != nil:
		if now.Before(r.StoppedAt.Add(reportGrace)) {
			return Step{}
		}
		return Step{End: new(stopOutcome(&r)), Announced: true}
	case r.State == StateCancelling && r.StoppedAt != nil:
		return Step{End: new(cancelled(r))}
	}
	return Step{Look: nextLook(&r, callTimeout, now)}
}

// nextLook is for a run whose sandbox has not stopped as far as is known.
func nextLook(r *Run, callTimeout time.Duration, now time.Time) Look {
	switch {
	case r.SandboxARN != "":
		return LookDescribe
	case r.State == StateLaunching && r.TokenUntil.After(now.Add(callTimeout)):
		if r.CallingUntil != nil && now.Before(*r.CallingUntil) {
			return LookNone
		}
		return LookCall
	default:
		return LookList
	}
}

func startTimeout(r *Run) Outcome {
	switch {
	case r.WaitingReason == WaitingCapacity:
		return failure(EndNoCapacity, "start", "There was no capacity for a sandbox before the start limit.")
	case r.State == StatePending:
		return failure(EndStartTimeout, "start", "The start limit passed while the run waited for a free slot.")
	default:
		return failure(EndStartTimeout, "start", "The start limit passed before a sandbox claimed the run.")
	}
}

// stopOutcome is what is known of a run whose sandbox stopped without a result.
func stopOutcome(r *Run) Outcome {
	kind, detail, _ := strings.Cut(r.StopReason, ": ")
	o := stopFailure(EndKind(kind), detail)
	if o.Ended.Kind == EndLost {
		o.Ended.Message = "The sandbox stopped without a result."
	}
	return o
}

func stopFailure(kind EndKind, detail string) Outcome {
	if !slices.Contains(EndKinds(), kind) { // none, or a launcher's word of tomorrow
		kind = EndLost
	}
	messages := map[EndKind]string{
		EndImageUnavailable: "The sandbox's image could not be had.",
		EndOutOfMemory:      "The sandbox ran out of memory.",
		EndStorageFull:      "The sandbox ran out of storage.",
		EndInterrupted:      "The sandbox was interrupted.",
		EndNoCapacity:       "There was no capacity for the sandbox.",
		EndNeverStarted:     "The sandbox never started.",
		EndLost:             "The sandbox stopped without claiming the run.",
	}
	message, known := messages[kind]
	if !known {
		message = "The sandbox stopped."
	}
	if detail != "" {
		message += " " + detail
	}
	return failure(kind, "", message)
}

func passed(deadline *time.Time, now time.Time) bool {
	return deadline != nil && !now.Before(*deadline)
}

// The longest times between two looks at a run.
const (
	lookPending   = 2 * time.Minute
	lookLaunching = 30 * time.Second
	lookRunning   = 5 * time.Minute
	lookEnding    = 5 * time.Second // cancelling, or settled with a sandbox that may still run
	lookHanging   = time.Minute     // one that does not end although it was told to
	lookSoonest   = time.Second     // for a deadline that is all but here
)

// NextDue is when a run has to be looked at next: never later than its next deadline. One that has passed is settled by
// whoever looks at the run now.
func NextDue(r *Run, now time.Time) time.Time {
	every := lookRunning
	var deadlines [3]*time.Time
	switch r.State {
	case StatePending:
		every, deadlines[0] = lookPending, &r.StartUntil
	case StateLaunching:
		every, deadlines[0], deadlines[1] = lookLaunching, &r.StartUntil, r.TokenUntil
	case StateRunning:
		deadlines[0], deadlines[1] = r.RunUntil, r.LeaseUntil
		if r.StoppedAt != nil {
			deadlines[2] = new(r.StoppedAt.Add(reportGrace))
		}
	case StateCancelling:
		every, deadlines[0], deadlines[1] = r.lookEnding(r.CancelAt, now), r.LeaseUntil, r.graceEnd()
	case StateCompleted, StateError, StateCancelled:
		every, deadlines[0] = r.lookEnding(r.EndedAt, now), r.graceEnd()
	}
	due := now.Add(every)
	for _, d := range deadlines {
		if d != nil && d.After(now) && d.Before(due) {
			due = *d
		}
	}
	if soonest := now.Add(lookSoonest); due.Before(soonest) {
		return soonest
	}
	return due
}

// lookEnding looks often at first, then less and less.
func (r *Run) lookEnding(since *time.Time, now time.Time) time.Duration {
	if since == nil {
		return lookEnding
	}
	return min(max(now.Sub(*since)/4, lookEnding), lookHanging)
}

// graceEnd is when a sandbox that is to end is stopped: nil where nothing was claimed, so that it is stopped at once.
func (r *Run) graceEnd() *time.Time {
	switch {
	case r.ClaimedBy == "":
		return nil
	case r.State.Terminal():
		return new(r.EndedAt.Add(r.StopGrace))
	case r.CancelAt != nil:
		return new(r.CancelAt.Add(r.StopGrace))
	}
	return nil
}

// Hasten lowers due_at where a change brought the next look nearer. Its caller has sent the message that arrives then
// before it writes this: only the sender of a message moves due_at.
func Hasten(r Run, now time.Time) (_ Run, hastened bool) {
	if !r.NeedsLook() {
		return r, false
	}
	due := NextDue(&r, now)
	if !due.Before(r.DueAt) {
		return r, false
	}
	r.DueAt = due
	return r, true
}
