package app

import (
	"context"
	"time"

	"companyos/shared/task"
)

// What a sandbox is refused with, beside errArtifactMissing.
var (
	errToken = &task.Error{Kind: task.KindUnauthorized, Code: "token_refused", Detail: "Invalid token", Remedy: "Use the token of the present launch."}

	errFenced = task.Conflictf("fenced", "End this sandbox: nothing that it reports is taken any more.",
		"The run belongs to another launch or instance, or is settled")
	errCancelled = task.Conflictf("cancelled", "End this sandbox.", "The run is being cancelled")
)

func pinMismatch(e *task.Ended) error {
	return task.Conflictf("pin_mismatch", "End this sandbox; the Task can be started again.", "%s", e.Message)
}

// session checks a session token against its run. errToken for a token that is none, or that has been replaced or has
// expired; errFenced for one of an earlier launch.
func session(r *task.Run, tok task.Token, now time.Time) error {
	switch {
	case tok.Launch < r.Launch:
		return errFenced
	case !r.Holds(tok.Launch, tok.Hash), r.RunUntil == nil || !now.Before(*r.RunUntil):
		return errToken
	}
	return nil
}

// sessionToken reads a token before anybody asks the database about it.
func sessionToken(text string) (task.Token, error) {
	tok, ok := task.ParseToken(text)
	if !ok || tok.Kind != task.TokenSession {
		return tok, errToken
	}
	return tok, nil
}

// sessionRun is the run of a session token, as the sandbox may see it.
func (c *Company) sessionRun(ctx context.Context, text string) (task.Run, task.Token, error) {
	tok, err := sessionToken(text)
	if err != nil {
		return task.Run{}, tok, err
	}
	run, now, err := c.DB.RunAndClock(ctx, tok.RunID)
	if err != nil {
		return run, tok, unknownRun(err)
	}
	return run, tok, session(&run, tok, now)
}

// unknownRun makes a token for a run that does not exist look like any other wrong one.
func unknownRun(err error) error {
	if task.KindOf(err) == task.KindNotFound {
		return errToken
	}
	return err
}
