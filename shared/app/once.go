package app

import (
	"context"
	"errors"
	"time"

	"companyos/shared/store"
	"companyos/shared/task"
)

// Once makes a creation happen once for a key of its caller, however often it is asked for. The answer to the first
// request is stored in the transaction that creates the record, so that there is never one without the other; whoever
// repeats the request gets that answer.
type Once struct {
	Key     string
	Request string                                                // hash of the request
	Answer  func(record any) (status int, body []byte, err error) // the answer that the record makes
}

// ReplayedError is the end of a creation that an earlier request with its key has made: the answer that was given then.
type ReplayedError struct {
	Status int
	Body   []byte
}

// Error says what happened, for logs.
func (*ReplayedError) Error() string { return "the request was made before" }

type onceKey struct{}

// WithOnce returns a context in which the use case that creates a record creates it once. Without it nothing is looked
// up or stored.
func WithOnce(ctx context.Context, o *Once) context.Context {
	return context.WithValue(ctx, onceKey{}, o)
}

// Replay returns what was answered to a caller's key: *ReplayedError, nil for a new key, KindInvalid when the key was used for
// another request.
func (c *Company) Replay(ctx context.Context, by task.Caller, key, request string) error {
	a, err := c.DB.Answer(ctx, by.ID, key)
	switch {
	case err != nil || a == nil:
		return err
	case a.Request != request:
		return task.Invalidf("idempotency_key_reused", "Send the other request with a key of its own.",
			"Idempotency-Key was used for another request")
	}
	return &ReplayedError{Status: a.Status, Body: []byte(a.Body)}
}

var errAnswered = errors.New("another request with the key was faster")

// create runs the transaction of a use case that creates a record. record is what the use case returns when it commits.
func (c *Company) create(ctx context.Context, by task.Caller, record func() any, f func(ctx context.Context, tx *store.Tx) error) error {
	once, _ := ctx.Value(onceKey{}).(*Once)
	if once == nil {
		return c.DB.Transact(ctx, f)
	}
	err := c.DB.Transact(ctx, func(ctx context.Context, tx *store.Tx) error {
		if err := f(ctx, tx); err != nil {
			return err
		}
		status, body, err := once.Answer(record())
		if err != nil {
			return err
		}
		first, err := tx.InsertAnswer(ctx, store.Answer{
			UserID: by.ID, Key: once.Key, Request: once.Request, Status: status, Body: string(body), At: c.now(),
		})
		if err == nil && !first {
			return errAnswered // and nothing is created
		}
		return err
	})
	if errors.Is(err, errAnswered) || errors.Is(err, store.ErrUnknownOutcome) {
		if replayed := c.Replay(ctx, by, once.Key, once.Request); replayed != nil {
			return replayed
		}
	}
	return err
}

// keepAnswer stores the answer of a creation that is made of several transactions, each of which may be repeated.
func (c *Company) keepAnswer(ctx context.Context, by task.Caller, record any) error {
	once, _ := ctx.Value(onceKey{}).(*Once)
	if once == nil {
		return nil
	}
	return c.create(ctx, by, func() any { return record }, func(context.Context, *store.Tx) error { return nil })
}

// How long answers are kept, and how many go at once.
const (
	keepAnswers  = 30 * 24 * time.Hour
	forgetAtOnce = 1000
)

// ForgetAnswers removes the answers to keys that are older than 30 days, batch by batch, and returns how many it
// removed. An answer that is gone makes its key new.
func (c *Company) ForgetAnswers(ctx context.Context) (int64, error) {
	before := c.now().Add(-keepAnswers)
	return inBatches(ctx, forgetAtOnce, func(most int) (int64, error) { return c.DB.DeleteAnswers(ctx, before, most) })
}
