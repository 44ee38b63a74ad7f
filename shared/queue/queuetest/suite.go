// Package queuetest is the conformance suite of queues: what app and the functions rely on, whichever queue they got.
package queuetest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"companyos/shared/queue"
)

// Bench is one empty queue and what receives from it.
type Bench struct {
	Queue queue.Queue
	// Run receives until ctx is done and then waits for its handlers.
	Run func(ctx context.Context, h queue.Handler) error
	// Dead returns the runs of the dead letters seen so far.
	Dead func(t *testing.T) []uuid.UUID
	// Unit is the shortest delay that the queue can tell from none.
	Unit time.Duration
	// The queue is set up with these.
	MaxReceive  int
	Concurrency int
	Visibility  time.Duration
}

// patience is how long the suite waits for what must happen.
const patience = 15 * time.Second

// Run runs every case against a fresh queue from open.
func Run(t *testing.T, open func(t *testing.T) Bench) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, Bench){
		"Delivery":                  delivery,
		"Delay":                     delay,
		"SameRunTwice":              sameRunTwice,
		"RedeliveryAfterError":      redeliveryAfterError,
		"PanicIsAnError":            panicIsAnError,
		"DeadLetterAfterMaxReceive": deadLetterAfterMaxReceive,
		"OneFailureHarmsNoOther":    oneFailureHarmsNoOther,
		"RedeliveryPastVisibility":  redeliveryPastVisibility,
		"ConcurrencyIsBounded":      concurrencyIsBounded,
		"ShutdownWaitsAndLosesNone": shutdownWaitsAndLosesNone,
		"MalformedIsRefused":        malformedIsRefused,
		"SendHeedsItsContext":       sendHeedsItsContext,
		"HandlersOutliveTheStop":    handlerContext,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

// log collects what a handler saw.
type log struct {
	mu    sync.Mutex
	times map[uuid.UUID][]time.Time
}

func newLog() *log { return &log{times: map[uuid.UUID][]time.Time{}} }

// add notes a delivery and returns how many this run has had.
func (l *log) add(id uuid.UUID) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.times[id] = append(l.times[id], time.Now())
	return len(l.times[id])
}

func (l *log) of(id uuid.UUID) []time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]time.Time(nil), l.times[id]...)
}

func (l *log) count(id uuid.UUID) int { return len(l.of(id)) }

// runs is the number of different runs seen.
func (l *log) runs() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.times)
}

// start runs the receiver until the returned stop, which waits for its end.
func start(t *testing.T, b Bench, h queue.Handler) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- b.Run(ctx, h) }()
	stop = sync.OnceFunc(func() {
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("Run: %v", err)
			}
		case <-time.After(patience):
			t.Error("Run did not end")
		}
	})
	t.Cleanup(stop)
	return stop
}

func send(t *testing.T, b Bench, id uuid.UUID, delay time.Duration) {
	t.Helper()
	if err := b.Queue.Send(t.Context(), id, delay); err != nil {
		t.Fatalf("Send: %v", err)
	}
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within %v", what, patience)
		}
	}
}

func newIDs(n int) []uuid.UUID {
	ids := make([]uuid.UUID, n)
	for i := range ids {
		ids[i] = uuid.New()
	}
	return ids
}

func delivery(t *testing.T, b Bench) {
	seen := newLog()
	ids := newIDs(25)
	for _, id := range ids[:10] {
		send(t, b, id, 0) // before anybody receives
	}
	start(t, b, func(_ context.Context, id uuid.UUID) error { seen.add(id); return nil })
	for _, id := range ids[10:] {
		send(t, b, id, 0)
	}
	for _, id := range ids {
		eventually(t, "delivery of "+id.String(), func() bool { return seen.count(id) > 0 })
	}
	if seen.runs() != len(ids) {
		t.Errorf("%d runs delivered, %d sent", seen.runs(), len(ids))
	}
}

func delay(t *testing.T, b Bench) {
	seen := newLog()
	start(t, b, func(_ context.Context, id uuid.UUID) error { seen.add(id); return nil })
	late, now := uuid.New(), uuid.New()
	sent := time.Now()
	send(t, b, late, b.Unit)
	send(t, b, now, -time.Hour)
	eventually(t, "the one without delay", func() bool { return seen.count(now) == 1 })
	eventually(t, "the delayed one", func() bool { return seen.count(late) == 1 })
	if waited := seen.of(late)[0].Sub(sent); waited < b.Unit {
		t.Errorf("delivered after %v, want at least %v", waited, b.Unit)
	}
}

// A reservation sends its run twice, once delayed: neither message may swallow the other.
func sameRunTwice(t *testing.T, b Bench) {
	seen, id := newLog(), uuid.New()
	send(t, b, id, b.Unit)
	send(t, b, id, 0)
	send(t, b, id, 0)
	start(t, b, func(_ context.Context, id uuid.UUID) error { seen.add(id); return nil })
	eventually(t, "every message of the run", func() bool { return seen.count(id) >= 3 })
	if dead := b.Dead(t); len(dead) != 0 {
		t.Errorf("dead letters %v", dead)
	}
}

func redeliveryAfterError(t *testing.T, b Bench) {
	seen, id := newLog(), uuid.New()
	start(t, b, func(_ context.Context, id uuid.UUID) error {
		if seen.add(id) == 1 {
			return errors.New("not yet")
		}
		return nil
	})
	send(t, b, id, 0)
	eventually(t, "redelivery", func() bool { return seen.count(id) == 2 })
	time.Sleep(b.Visibility + b.Unit) // what was handled does not come back
	if n := seen.count(id); n != 2 {
		t.Errorf("delivered %d times, want 2", n)
	}
}

func panicIsAnError(t *testing.T, b Bench) {
	seen, id := newLog(), uuid.New()
	start(t, b, func(_ context.Context, id uuid.UUID) error {
		if seen.add(id) == 1 {
			panic("handler is broken")
		}
		return nil
	})
	send(t, b, id, 0)
	eventually(t, "redelivery after the panic", func() bool { return seen.count(id) == 2 })
}

func deadLetterAfterMaxReceive(t *testing.T, b Bench) {
	seen, id := newLog(), uuid.New()
	start(t, b, func(_ context.Context, id uuid.UUID) error { seen.add(id); return errors.New("broken") })
	send(t, b, id, 0)
	eventually(t, "the dead letter", func() bool { dead := b.Dead(t); return len(dead) == 1 && dead[0] == id })
	if n := seen.count(id); n != b.MaxReceive {
		t.Errorf("delivered %d times, want %d", n, b.MaxReceive)
	}
}

func oneFailureHarmsNoOther(t *testing.T, b Bench) {
	seen, ids := newLog(), newIDs(10)
	broken := ids[3]
	for _, id := range ids {
		send(t, b, id, 0)
	}
	start(t, b, func(_ context.Context, id uuid.UUID) error {
		seen.add(id)
		if id == broken {
			return errors.New("broken")
		}
		return nil
	})
	eventually(t, "the dead letter", func() bool { return len(b.Dead(t)) > 0 })
	if dead := b.Dead(t); len(dead) > 1 {
		t.Errorf("dead letters %v", dead)
	}
	for _, id := range ids {
		if n := seen.count(id); id != broken && n != 1 {
			t.Errorf("a sound message was delivered %d times", n)
		}
	}
}

func redeliveryPastVisibility(t *testing.T, b Bench) {
	seen, id := newLog(), uuid.New()
	release := make(chan struct{})
	start(t, b, func(_ context.Context, id uuid.UUID) error {
		if seen.add(id) == 1 {
			<-release
		}
		return nil
	})
	send(t, b, id, 0)
	eventually(t, "a second delivery while the first still runs", func() bool { return seen.count(id) == 2 })
	close(release)
	at := seen.of(id)
	if gap := at[1].Sub(at[0]); gap < b.Visibility*9/10 {
		t.Errorf("delivered again after %v, want about %v", gap, b.Visibility)
	}
}

func concurrencyIsBounded(t *testing.T, b Bench) {
	var mu sync.Mutex
	running, most, total := 0, 0, 0
	ids := newIDs(3 * b.Concurrency)
	for _, id := range ids {
		send(t, b, id, 0)
	}
	start(t, b, func(context.Context, uuid.UUID) error {
		mu.Lock()
		running++
		most = max(most, running)
		mu.Unlock()
		time.Sleep(20 * time.Millisecond)
		mu.Lock()
		running--
		total++
		mu.Unlock()
		return nil
	})
	eventually(t, "all messages", func() bool { mu.Lock(); defer mu.Unlock(); return total >= len(ids) })
	mu.Lock()
	defer mu.Unlock()
	if most > b.Concurrency || most < 2 {
		t.Errorf("%d handlers at once, want 2 to %d", most, b.Concurrency)
	}
}

// A receiver is stopped in the middle: it waits for what it began, that does not come back, and another receiver gets
// the rest.
func shutdownWaitsAndLosesNone(t *testing.T, b Bench) {
	began, finished := newLog(), newLog()
	ids := newIDs(2*b.Concurrency + 4)
	for _, id := range ids {
		send(t, b, id, 0)
	}
	first := make(chan struct{}, len(ids))
	stop := start(t, b, func(_ context.Context, id uuid.UUID) error {
		began.add(id)
		first <- struct{}{}
		time.Sleep(200 * time.Millisecond)
		finished.add(id)
		return nil
	})
	<-first
	stop()
	if b, f := began.runs(), finished.runs(); b != f || f == 0 || f == len(ids) {
		t.Fatalf("%d handlers began, %d finished, of %d messages", b, f, len(ids))
	}
	start(t, b, func(_ context.Context, id uuid.UUID) error { finished.add(id); return nil })
	for _, id := range ids {
		eventually(t, "delivery of "+id.String(), func() bool { return finished.count(id) > 0 })
	}
	for id := range began.times {
		if n := finished.count(id); n != 1 {
			t.Errorf("handled before the shutdown, delivered %d times", n)
		}
	}
}

func malformedIsRefused(t *testing.T, b Bench) {
	if err := b.Queue.Send(t.Context(), uuid.Nil, 0); !errors.Is(err, queue.ErrMalformed) {
		t.Errorf("no run: %v, want ErrMalformed", err)
	}
}

func sendHeedsItsContext(t *testing.T, b Bench) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.Queue.Send(ctx, uuid.New(), 0); !errors.Is(err, context.Canceled) {
		t.Errorf("Send under a cancelled context: %v", err)
	}
}

// A handler that was begun may finish its work after the stop: its context is not the receiver's.
func handlerContext(t *testing.T, b Bench) {
	inside, stopped := make(chan struct{}), make(chan struct{})
	result := make(chan error, 1)
	stop := start(t, b, func(ctx context.Context, _ uuid.UUID) error {
		close(inside)
		<-stopped
		time.Sleep(50 * time.Millisecond)
		result <- ctx.Err()
		return nil
	})
	send(t, b, uuid.New(), 0)
	<-inside
	go stop()
	time.Sleep(50 * time.Millisecond)
	close(stopped)
	if err := <-result; err != nil {
		t.Errorf("the handler's context ended with the receiver's: %v", err)
	}
}
