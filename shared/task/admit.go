package task

import (
	"slices"
	"time"
)

// TokenLife is how long a launch token may be claimed.
const TokenLife = 10 * time.Minute

// FreeSlot is the smallest slot from 1 to most that is not taken; ok is false when none is free.
func FreeSlot(taken []int, most int) (slot int, ok bool) {
	for slot = 1; slot <= most; slot++ {
		if !slices.Contains(taken, slot) {
			return slot, true
		}
	}
	return 0, false
}

// Admit begins the first launch of a run that has got a slot. Whoever admits it makes the call, so the call counts as in
// flight from here. ok is false for a run that does not wait any more.
func Admit(r Run, secret string, callTimeout time.Duration, now time.Time) (_ Run, ok bool) {
	if !r.Sandboxed || r.State != StatePending || r.CancelAt != nil || !now.Before(r.StartUntil) {
		return r, false
	}
	r = r.nextLaunch(secret, now)
	r.State, r.WaitingReason, r.WaitingSince = StateLaunching, "", nil
	until := now.Add(callTimeout)
	r.CallingUntil = &until
	return r, true
}

// nextLaunch gives the run a new launch with a new token. Nothing of an earlier launch is accepted any more.
func (r Run) nextLaunch(secret string, now time.Time) Run {
	r.Launch++
	r.LaunchToken = MakeToken(TokenLaunch, r.ID, r.Launch, secret)
	r.LaunchHash = HashToken(r.LaunchToken)
	until := now.Add(TokenLife)
	r.TokenUntil, r.CallingUntil, r.SandboxARN = &until, nil, ""
	r.ClaimedBy, r.SessionHash, r.EventBatches = "", "", 0
	r.UpdatedAt = &now
	return r
}

// Revoked says that a waiting run may not start any more: its Task was given to something else meanwhile.
func Revoked(t *Task, r *Run) bool {
	return t.Status != StatusInProgress || t.ArchivedAt != nil || t.JobID == nil || *t.JobID != r.ID ||
		t.ExecutorType == nil || *t.ExecutorType != r.ExecutorType || t.ExecutorID == nil || *t.ExecutorID != r.ExecutorID
}

// ReasonRevoked is the contract's text of a run whose Task was given to something else meanwhile.
const ReasonRevoked = "Task acceptance was changed or revoked"

// Unready ends a claimed run whose executor lacks what only its operator can give, before anything was done.
func Unready(r Run, reason string, now time.Time) (_ Run, ok bool) {
	if r.State != StateRunning || r.PreparedAt != nil {
		return r, false
	}
	return r.end(failure(EndSecretMissing, "", reason), now), true
}

// Revoke ends a run that may not start any more, and says why: one that waits, or whose launch nobody has claimed.
func Revoke(r Run, reason string, now time.Time) (_ Run, ok bool) {
	if r.State != StatePending && r.State != StateLaunching {
		return r, false
	}
	return r.end(failure(EndExecutorRevoked, "", reason), now), true
}
