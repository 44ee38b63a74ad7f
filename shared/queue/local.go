package queue

import (
	"container/heap"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
)

// LocalConfig bounds a Local. The zero value of a field means its default.
type LocalConfig struct {
	Capacity      int           // messages held at once, delayed and in flight ones included; 10,000 (about 1 MB)
	Concurrency   int           // handlers at once in one Run; 8
	Visibility    time.Duration // a handler that runs longer no longer owns its message; 3 minutes
	MaxReceive    int           // receives after which a message that fails is a dead letter; 5
	RetryDelay    time.Duration // wait after the first failure, doubled at each further one; 1 second
	MaxRetryDelay time.Duration // the longest such wait; 1 minute
	DeadLetters   int           // dead letters kept, the newest; 1,000
	Grace         time.Duration // time that running handlers have when Run is told to stop; 30 seconds
	Held          bool          // nothing is delivered until Hold(false)
}

func (c LocalConfig) withDefaults() LocalConfig {
	return LocalConfig{
		Capacity:      positive(c.Capacity, 10_000),
		Concurrency:   positive(c.Concurrency, 8),
		Visibility:    positive(c.Visibility, 3*time.Minute),
		MaxReceive:    positive(c.MaxReceive, 5),
		RetryDelay:    positive(c.RetryDelay, time.Second),
		MaxRetryDelay: positive(c.MaxRetryDelay, time.Minute),
		DeadLetters:   positive(c.DeadLetters, 1_000),
		Grace:         positive(c.Grace, 30*time.Second),
	}
}

func positive[N int | time.Duration](n, otherwise N) N {
	if n > 0 {
		return n
	}
	return otherwise
}

// DeadLetter is a message that failed as often as it may.
type DeadLetter struct {
	RunID    uuid.UUID
	Receives int
	Err      error // of the last failure; nil where no handler came back within the visibility timeout
}

// Local is a queue in this process, with the semantics of a standard SQS queue: at least once, no order, delays, a
// visibility timeout, dead letters.
//
// What it does not do: it is not durable. What it holds is gone with the process, and a full one refuses to send. That
// is enough because a message is only a wake-up: the runs are in the database, a restart enqueues every run that is not
// finished, and sweep sends again what is overdue. It serves one process and deduplicates nothing.
type Local struct {
	cfg LocalConfig

	mu      sync.Mutex
	waiting messages      // every message, by the time it becomes visible
	sent    uint64        // messages ever sent; keeps those of the same instant in order
	held    bool          // Hold(true)
	dead    []DeadLetter  // oldest first
	changed chan struct{} // closed and replaced when a receiver that waits should look again
}

// NewLocal returns an empty queue. Nothing is delivered before Run.
func NewLocal(cfg LocalConfig) *Local {
	return &Local{cfg: cfg.withDefaults(), changed: make(chan struct{}), held: cfg.Held}
}

// Send implements Queue. It returns ErrFull when Capacity messages are held: the run is in the database, sweep sends it
// again.
func (l *Local) Send(ctx context.Context, runID uuid.UUID, delay time.Duration) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("send run %s: %w", runID, err)
	}
	if runID == uuid.Nil {
		return fmt.Errorf("send: %w: no run id", ErrMalformed)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) >= l.cfg.Capacity {
		return fmt.Errorf("send run %s: %w: %d messages", runID, ErrFull, len(l.waiting))
	}
	l.sent++
	heap.Push(&l.waiting, &pending{runID: runID, seq: l.sent, visibleAt: time.Now().Add(ClampDelay(delay))})
	l.wake()
	return nil
}

// Run delivers to h until ctx is done, waits for the handlers that run and returns nil. What was not handled stays: a
// later Run delivers it. Handlers have the configured grace to finish, then their context is cancelled.
func (l *Local) Run(ctx context.Context, h Handler) error {
	handling, cancel := Linger(ctx, l.cfg.Grace)
	defer cancel()
	var workers sync.WaitGroup
	for range l.cfg.Concurrency {
		workers.Go(func() {
			for {
				m, receipt, ok := l.receive(ctx)
				if !ok {
					return
				}
				l.settle(handling, m, receipt, h.Call(handling, m.runID))
			}
		})
	}
	workers.Wait()
	return nil
}

// Hold stops deliveries (true) and lets them go on (false), so that a test can look at what waits. Handlers that run
// are not touched.
func (l *Local) Hold(hold bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held = hold
	l.wake()
}

// Len is the number of messages held: delayed, visible and in flight.
func (l *Local) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.waiting)
}

// Dead returns the dead letters, oldest first.
func (l *Local) Dead() []DeadLetter {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]DeadLetter(nil), l.dead...)
}

// receive waits for a visible message and takes it: from now on it is invisible for the visibility timeout, and the
// receipt says whose it is. It returns false when ctx is done.
func (l *Local) receive(ctx context.Context) (*pending, int, bool) {
	for ctx.Err() == nil {
		m, receipt, wait, changed := l.take(time.Now())
		if m != nil {
			return m, receipt, true
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-changed:
		case <-timer.C:
		}
		timer.Stop()
	}
	return nil, 0, false
}

// take returns the next visible message, or nil, how long to wait at most and what ends the wait.
func (l *Local) take(now time.Time) (*pending, int, time.Duration, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.waiting) > 0 && !l.held {
		m := l.waiting[0]
		if wait := m.visibleAt.Sub(now); wait > 0 {
			return nil, 0, wait, l.changed
		}
		if m.receives >= l.cfg.MaxReceive {
			l.bury(m, nil)
			continue
		}
		m.receives++
		m.visibleAt = now.Add(l.cfg.Visibility)
		heap.Fix(&l.waiting, m.index)
		return m, m.receives, 0, nil
	}
	return nil, 0, MaxDelay, l.changed
}

// settle ends one delivery. A receipt that is no longer the newest decides nothing: the message was delivered again.
func (l *Local) settle(ctx context.Context, m *pending, receipt int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		slog.WarnContext(ctx, "message failed", "run_id", m.runID, "receives", receipt, "error", err)
	}
	if m.index < 0 || m.receives != receipt {
		return
	}
	switch {
	case err == nil:
		heap.Remove(&l.waiting, m.index)
	case m.receives >= l.cfg.MaxReceive:
		l.bury(m, err)
	default:
		m.visibleAt = time.Now().Add(Backoff(receipt, l.cfg.RetryDelay, l.cfg.MaxRetryDelay))
		heap.Fix(&l.waiting, m.index)
		l.wake()
	}
}

// bury makes m a dead letter; the caller holds the lock.
func (l *Local) bury(m *pending, err error) {
	heap.Remove(&l.waiting, m.index)
	if len(l.dead) >= l.cfg.DeadLetters {
		l.dead = append(l.dead[:0], l.dead[len(l.dead)-l.cfg.DeadLetters+1:]...)
	}
	l.dead = append(l.dead, DeadLetter{RunID: m.runID, Receives: m.receives, Err: err})
}

// wake lets every waiting receiver look again; the caller holds the lock.
func (l *Local) wake() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// pending is a message from its sending to its end.
type pending struct {
	runID     uuid.UUID
	seq       uint64
	visibleAt time.Time
	receives  int
	index     int // in the heap; -1 when it has left it
}

// messages is a heap by the time of visibility.
type messages []*pending

func (m messages) Len() int { return len(m) }

func (m messages) Less(i, j int) bool {
	if m[i].visibleAt.Equal(m[j].visibleAt) {
		return m[i].seq < m[j].seq
	}
	return m[i].visibleAt.Before(m[j].visibleAt)
}

func (m messages) Swap(i, j int) {
	m[i], m[j] = m[j], m[i]
	m[i].index, m[j].index = i, j
}

// Push and Pop are container/heap's.
func (m *messages) Push(x any) {
	p := x.(*pending)
	p.index = len(*m)
	*m = append(*m, p)
}

// Pop removes the last element.
func (m *messages) Pop() any {
	last := len(*m) - 1
	p := (*m)[last]
	(*m)[last] = nil
	*m = (*m)[:last]
	p.index = -1
	return p
}
