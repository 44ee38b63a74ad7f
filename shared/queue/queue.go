// Package queue carries wake-ups. A message names a run and says nothing else: whoever receives it looks at the run in
// the database and does what is due. So a message may arrive twice, late, out of order or, once in a while, never.
package queue

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/google/uuid"
)

// MaxDelay is the longest delay a queue can keep, SQS's limit. A longer one is cut to it: the wake comes early, its
// handler finds nothing due and the run's next message is sent with the time that is left.
const MaxDelay = 15 * time.Minute

var (
	// ErrMalformed is a message that names no run. It is never handled and ends among the dead letters.
	ErrMalformed = errors.New("malformed queue message")
	// ErrAway is wrapped by a handler's error when something that every run needs is away, such as the database: who
	// receives several messages at once hands the others back untried.
	ErrAway = errors.New("what every run needs is away")
	// ErrFull is a queue that holds as many messages as it may. Nothing was sent.
	ErrFull = errors.New("queue is full")
)

// Queue sends wake-ups.
type Queue interface {
	// Send wakes runID after delay, at least once. A negative delay counts as none, one over MaxDelay as MaxDelay.
	// It returns ErrMalformed for the nil id, ErrFull where the queue is bounded, or the error of the network;
	// after the last the message may have been sent all the same.
	Send(ctx context.Context, runID uuid.UUID, delay time.Duration) error
}

// Handler does what is due for a run. An error brings the message back later, until it is a dead letter. It is called
// at least once a message, for the same run also concurrently.
type Handler func(ctx context.Context, runID uuid.UUID) error

// Call calls the handler and turns its panic into an error: one broken message must not take the others of its batch,
// or the process, with it.
func (h Handler) Call(ctx context.Context, runID uuid.UUID) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("handler panicked: %v\n%s", p, debug.Stack())
		}
	}()
	return h(ctx, runID)
}

// Backoff is the wait before a message that failed at its nth receive comes back: first, doubled at each further
// failure, at most limit.
func Backoff(receives int, first, limit time.Duration) time.Duration {
	d := first
	for i := 1; i < receives && d < limit; i++ {
		d *= 2
	}
	return min(d, limit)
}

// Linger returns the context that handlers run under. It outlives ctx by grace, so that a shutdown lets them finish;
// then it is cancelled, so that a handler that heeds its context cannot hold the process for ever.
func Linger(ctx context.Context, grace time.Duration) (context.Context, context.CancelFunc) {
	handling, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(grace, cancel)
		context.AfterFunc(handling, func() { timer.Stop() })
	})
	return handling, func() { stop(); cancel() }
}

// ClampDelay brings a delay between zero and MaxDelay.
func ClampDelay(d time.Duration) time.Duration { return min(max(d, 0), MaxDelay) }
