package app

import (
	"context"

	"companyos/shared/store"
	"companyos/shared/task"
)

// Prepared takes a supervisor's report of what it checked out, with its warnings, and answers whether the agent may start.
// KindConflict "pin_mismatch" for a checkout that is not the Task's or the Product's: the run and the Task are settled
// then. KindConflict "cancelled" for a run that is being cancelled, "fenced" for one that is over or has reported another
// checkout. KindUnauthorized for a token that does not hold.
func (c *Company) Prepared(ctx context.Context, token string, got task.RunCheckout, warnings []string) error {
	tok, err := sessionToken(token)
	if err != nil {
		return err
	}
	var wrongPin error // it is written, so it is no error of the transaction
	_, err = c.change(ctx, tok.RunID, func(ctx context.Context, v *view) (task.Run, error) {
		wrongPin = nil
		if err := session(&v.run, tok, v.now); err != nil {
			return v.run, err
		}
		t, err := v.task(ctx)
		if err != nil {
			return v.run, err
		}
		source, err := v.source(ctx)
		if err != nil {
			return v.run, err
		}
		run, answer := v.run.Prepared(t, got, source, v.now)
		switch answer {
		case task.AnswerTaken:
			return run, v.tx.AddEvents(ctx, run.ID, warningEvents(warnings, v))
		case task.AnswerStop:
			return v.run, errCancelled
		case task.AnswerWrongPin:
			wrongPin = pinMismatch(run.Ended)
		case task.AnswerFenced, task.AnswerKept:
			return v.run, errFenced
		case task.AnswerAgain:
		}
		return run, nil
	})
	if err != nil {
		return unknownRun(err)
	}
	return wrongPin
}

func warningEvents(warnings []string, v *view) []store.Event {
	events := make([]store.Event, len(warnings))
	for i, w := range warnings {
		events[i] = store.Event{At: v.now, Type: eventWarning, Body: eventBody(map[string]any{"text": clean(w)})}
	}
	return events
}
