package apptest

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
)

// Clock is the time of the doubles. The database's is the machine's; Bench.Travel moves both.
type Clock struct {
	mu     sync.Mutex
	offset time.Duration
}

// Now is the time of the doubles.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.offset)
}

func (c *Clock) travel(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offset += d
}

// Message is one wake-up.
type Message struct {
	RunID string
	At    time.Time // when it is delivered at the earliest
}

// Queue is a queue whose messages are delivered when a test takes them, in any order.
type Queue struct {
	Plan func(call string) Fault // of the next send

	mu       sync.Mutex
	clock    *Clock
	messages []Message
}

// Send implements app.Queue.
func (q *Queue) Send(_ context.Context, runID uuid.UUID, delay time.Duration) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	fault := FaultNone
	if q.Plan != nil {
		fault = q.Plan("send")
	}
	if fault == FaultBefore {
		return ErrFault
	}
	q.messages = append(q.messages, Message{runID.String(), q.clock.Now().Add(delay)})
	return after(fault, "send")
}

// Due are the messages that may be delivered now, oldest first.
func (q *Queue) Due() []Message {
	q.mu.Lock()
	defer q.mu.Unlock()
	var due []Message
	for _, m := range q.messages {
		if !m.At.After(q.clock.Now()) {
			due = append(due, m)
		}
	}
	slices.SortStableFunc(due, func(a, b Message) int { return a.At.Compare(b.At) })
	return due
}

// All are the messages, delayed ones included.
func (q *Queue) All() []Message {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Clone(q.messages)
}

// Next is when the next message may be delivered; ok is false for an empty queue.
func (q *Queue) Next() (at time.Time, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, m := range q.messages {
		if !ok || m.At.Before(at) {
			at, ok = m.At, true
		}
	}
	return at, ok
}

// Delete takes one message out: it was handled, or is lost.
func (q *Queue) Delete(m Message) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if i := slices.Index(q.messages, m); i >= 0 {
		q.messages = slices.Delete(q.messages, i, i+1)
	}
}

// Clear loses every message.
func (q *Queue) Clear() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.messages = nil
}

// Len is the number of messages, delayed ones included.
func (q *Queue) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.messages)
}
