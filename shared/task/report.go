package task

import (
	"crypto/subtle"
	"slices"
	"strings"
	"time"
)

// Answer is what a sandbox is told.
type Answer string

// The answers to a sandbox. Taken: its word was stored. Again: it was stored already, nothing changes. Kept: the run is
// being cancelled, a result is kept as evidence. The others are refusals: Fenced (another launch, another instance, or a
// settled run with another result), Stop (the run is being cancelled), WrongPin (the run ended with that).
const (
	AnswerTaken    Answer = "taken"
	AnswerAgain    Answer = "again"
	AnswerKept     Answer = "kept"
	AnswerFenced   Answer = "fenced"
	AnswerStop     Answer = "stop"
	AnswerWrongPin Answer = "wrong_pin"
)

// Claim is a supervisor's claim of a launch.
type Claim struct {
	LaunchHash  string // of the token it came with
	Instance    string
	SessionHash string    // of the token it gets
	RunUntil    time.Time // the launch's deadline, if it is the first claim
}

// Claim gives the launch to the first instance that asks with its token, and to the same instance again, with a fresh
// session token. Everything else is fenced.
func (r Run) Claim(c Claim, now time.Time) (Run, Answer) {
	switch {
	case !r.Launches(c.LaunchHash):
		return r, AnswerFenced
	case r.State == StateLaunching && r.ClaimedBy == "" && now.Before(*r.TokenUntil):
		r.State, r.ClaimedBy, r.ClaimedAt, r.RunUntil = StateRunning, c.Instance, &now, &c.RunUntil
		r.LaunchToken, r.WaitingReason, r.WaitingSince = "", "", nil
		r.SessionHash, r.UpdatedAt = c.SessionHash, &now
		return r, AnswerTaken
	case r.State == StateRunning && r.ClaimedBy == c.Instance && now.Before(*r.RunUntil):
		r.SessionHash = c.SessionHash
		return r, AnswerAgain
	}
	return r, AnswerFenced
}

// Launches says whether a token is that of the present launch.
func (r *Run) Launches(tokenHash string) bool { return equal(tokenHash, r.LaunchHash) }

// Holds says whether a session token is that of the instance which claimed the present launch.
func (r *Run) Holds(launch int, sessionHash string) bool {
	return r.Launch == launch && equal(sessionHash, r.SessionHash)
}

// equal compares hashes of tokens in constant time; an empty one equals nothing.
func equal(given, stored string) bool {
	return stored != "" && subtle.ConstantTimeCompare([]byte(given), []byte(stored)) == 1
}

// Prepared takes the report of the checkout, before the agent starts. A wrong pin ends the run here, before a model is
// paid; its Task is settled with Close.
func (r Run) Prepared(t *Task, got RunCheckout, source SourceMatch, now time.Time) (Run, Answer) {
	got.Requested, got.Commit = r.Checkout.Requested, strings.ToLower(got.Commit)
	switch {
	case r.State == StateCancelling || r.State == StateCancelled:
		return r, AnswerStop
	case r.State == StateError && r.PreparedAt == nil && r.Checkout == got && r.Ended.wrongPin():
		return r, AnswerWrongPin
	case r.State != StateRunning:
		return r, AnswerFenced
	case r.PreparedAt != nil && r.Checkout == got:
		return r, AnswerAgain
	case r.PreparedAt != nil:
		return r, AnswerFenced
	}
	if problem := CheckPin(t, &r, got, source); problem != nil {
		r.Checkout = got
		return r.end(Outcome{State: StateError, Ended: *problem}, now), AnswerWrongPin
	}
	r.Checkout, r.PreparedAt, r.UpdatedAt = got, &now, &now
	return r, AnswerTaken
}

func (e *Ended) wrongPin() bool {
	return e != nil && slices.Contains([]EndKind{EndPinMismatch, EndNoPin, EndSourceGone}, e.Kind)
}

// Report takes the result of a run: the first one settles it, with its Task.
func Report(t Task, r Run, o Outcome, source SourceMatch, now time.Time) (Task, Run, Answer) {
	switch {
	case r.ResultSHA256 != "" && r.ResultSHA256 == o.ResultSHA:
		return t, r, AnswerAgain
	case r.ResultSHA256 != "":
		return t, r, AnswerFenced
	case r.State == StateRunning:
		t, r = Settle(t, r, o, source, now)
		return t, r, AnswerTaken
	case r.State == StateCancelling:
		r.ResultKey, r.ResultSHA256, r.UpdatedAt = o.ResultKey, o.ResultSHA, &now
		if o.Usage != nil {
			r.Usage = o.Usage
		}
		return t, r, AnswerKept
	}
	return t, r, AnswerFenced
}

// Reporting says whether events and artifacts of the claiming instance are still taken.
func (r *Run) Reporting() bool { return r.State == StateRunning || r.State == StateCancelling }

// OutcomeOf is the outcome that a result names.
func OutcomeOf(kind EndKind, content string) Outcome {
	if kind == EndCompleted {
		return Outcome{State: StateCompleted, Ended: Ended{Kind: kind}, Content: content}
	}
	if !slices.Contains(EndKinds(), kind) {
		kind = EndInternal
	}
	message := content
	if strings.TrimSpace(message) == "" {
		message = "The run ended: " + strings.ReplaceAll(string(kind), "_", " ") + "."
	}
	return failure(kind, limits[kind], message)
}

// limits names the limit behind a kind of end.
var limits = map[EndKind]string{
	EndCheckoutTimeout: "prepare", EndRunTimeout: "run", EndIdleTimeout: "idle", EndBudgetExhausted: "budget",
	EndOutputLimit: "output", EndStartTimeout: "start",
}
