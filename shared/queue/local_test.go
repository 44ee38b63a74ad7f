package queue_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"companyos/shared/queue"
)

// run starts l in the bubble and returns what stops it and waits.
func run(t *testing.T, l *queue.Local, h queue.Handler) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- l.Run(ctx, h) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	}
}

func send(t *testing.T, l *queue.Local, id uuid.UUID, delay time.Duration) {
	t.Helper()
	if err := l.Send(t.Context(), id, delay); err != nil {
		t.Fatal(err)
	}
}

// moments records when deliveries happened, counted from the bubble's start.
type moments struct {
	mu    sync.Mutex
	start time.Time
	at    []time.Duration
}

// add notes a delivery and returns how many there were.
func (m *moments) add() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at = append(m.at, time.Since(m.start))
	return len(m.at)
}

func (m *moments) list() []time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.at)
}

// pass lets d go by in the bubble and everything that is due then happen.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestLocalDeliversAtTheMomentAndCutsTheDelay(t *testing.T) {
	t.Parallel()
	for delay, want := range map[time.Duration]time.Duration{
		-time.Second:     0,
		0:                0,
		30 * time.Second: 30 * time.Second,
		15 * time.Minute: 15 * time.Minute,
		24 * time.Hour:   15 * time.Minute,
	} {
		synctest.Test(t, func(t *testing.T) {
			l, seen := queue.NewLocal(queue.LocalConfig{}), moments{start: time.Now()}
			stop := run(t, l, func(context.Context, uuid.UUID) error { seen.add(); return nil })
			send(t, l, uuid.New(), delay)
			pass(want)
			if at := seen.list(); !slices.Equal(at, []time.Duration{want}) || l.Len() != 0 {
				t.Errorf("delay %v: delivered after %v, want %v; %d left", delay, at, want, l.Len())
			}
			stop()
		})
	}
}

func TestLocalRefusesWhenFullAndTakesAgainAfterADelivery(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := queue.NewLocal(queue.LocalConfig{Capacity: 3})
		send(t, l, uuid.New(), 0)
		send(t, l, uuid.New(), time.Minute)
		send(t, l, uuid.New(), 2*time.Minute)
		if err := l.Send(t.Context(), uuid.New(), 0); !errors.Is(err, queue.ErrFull) {
			t.Fatalf("fourth of three: %v, want ErrFull", err)
		}
		release := make(chan struct{})
		stop := run(t, l, func(context.Context, uuid.UUID) error { <-release; return nil })
		synctest.Wait()
		if err := l.Send(t.Context(), uuid.New(), 0); !errors.Is(err, queue.ErrFull) {
			t.Fatalf("one in flight still counts: %v, want ErrFull", err)
		}
		close(release)
		synctest.Wait()
		send(t, l, uuid.New(), 0)
		stop()
	})
}

func TestLocalBacksOffAndBuriesAfterTheLastReceive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := queue.NewLocal(queue.LocalConfig{MaxReceive: 4, RetryDelay: time.Second, MaxRetryDelay: 3 * time.Second})
		seen, broken := moments{start: time.Now()}, errors.New("broken")
		stop := run(t, l, func(context.Context, uuid.UUID) error { seen.add(); return broken })
		id := uuid.New()
		send(t, l, id, 0)
		pass(time.Hour)
		want := []time.Duration{0, time.Second, 3 * time.Second, 6 * time.Second}
		if at := seen.list(); !slices.Equal(at, want) {
			t.Errorf("received at %v, want %v", at, want)
		}
		dead := l.Dead()
		if len(dead) != 1 || dead[0].RunID != id || dead[0].Receives != 4 || !errors.Is(dead[0].Err, broken) || l.Len() != 0 {
			t.Errorf("dead letters %+v, %d left", dead, l.Len())
		}
		stop()
	})
}

func TestLocalKeepsTheNewestDeadLetters(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := queue.NewLocal(queue.LocalConfig{MaxReceive: 1, DeadLetters: 2})
		stop := run(t, l, func(context.Context, uuid.UUID) error { return errors.New("broken") })
		ids := []uuid.UUID{uuid.New(), uuid.New(), uuid.New(), uuid.New()}
		for _, id := range ids {
			send(t, l, id, 0)
			synctest.Wait()
		}
		if dead := l.Dead(); len(dead) != 2 || dead[0].RunID != ids[2] || dead[1].RunID != ids[3] {
			t.Errorf("dead letters %+v, want the last two of %v", dead, ids)
		}
		stop()
	})
}

// The first handler outlasts its visibility: a second gets the message, and the first one's success no longer counts.
func TestLocalLateHandlerNoLongerOwnsItsMessage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := queue.NewLocal(queue.LocalConfig{Visibility: 10 * time.Second, RetryDelay: time.Second})
		seen := moments{start: time.Now()}
		stop := run(t, l, func(context.Context, uuid.UUID) error {
			switch seen.add() {
			case 1:
				time.Sleep(15 * time.Second) // succeeds at 15 s, late
				return nil
			case 2:
				time.Sleep(8 * time.Second) // fails at 18 s, in time
				return errors.New("second failed")
			}
			return nil
		})
		send(t, l, uuid.New(), 0)
		pass(16 * time.Second)
		if l.Len() != 1 {
			t.Errorf("the late success ended the message")
		}
		pass(time.Hour)
		want := []time.Duration{0, 10 * time.Second, 18*time.Second + 2*time.Second}
		if at := seen.list(); !slices.Equal(at, want) || l.Len() != 0 {
			t.Errorf("received at %v, want %v; %d left", at, want, l.Len())
		}
		stop()
	})
}

// A handler that never comes back must not keep its message from the dead letters.
func TestLocalBuriesWhatOutlastsEveryVisibility(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := queue.NewLocal(queue.LocalConfig{Visibility: time.Second, MaxReceive: 2, Grace: time.Second})
		var seen moments
		stop := run(t, l, func(ctx context.Context, _ uuid.UUID) error {
			seen.add()
			<-ctx.Done()
			return ctx.Err()
		})
		send(t, l, uuid.New(), 0)
		pass(time.Minute)
		if dead, received := l.Dead(), len(seen.list()); received != 2 || len(dead) != 1 || dead[0].Err != nil || dead[0].Receives != 2 {
			t.Errorf("received %d times, dead letters %+v", received, dead)
		}
		stop()
		if len(l.Dead()) != 1 {
			t.Errorf("buried twice: %+v", l.Dead())
		}
	})
}

func TestLocalHold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, seen := queue.NewLocal(queue.LocalConfig{}), moments{}
		stop := run(t, l, func(context.Context, uuid.UUID) error { seen.add(); return nil })
		l.Hold(true)
		send(t, l, uuid.New(), 0)
		send(t, l, uuid.New(), time.Second)
		pass(time.Hour)
		if received := len(seen.list()); received != 0 || l.Len() != 2 {
			t.Errorf("held: received %d, %d wait", received, l.Len())
		}
		l.Hold(false)
		synctest.Wait()
		if received := len(seen.list()); received != 2 || l.Len() != 0 {
			t.Errorf("let go: received %d, %d wait", received, l.Len())
		}
		stop()
	})
}

func TestLocalCancelsHandlersOnlyAfterTheGrace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, start := queue.NewLocal(queue.LocalConfig{Grace: 20 * time.Second}), time.Now()
		stop := run(t, l, func(ctx context.Context, _ uuid.UUID) error {
			<-ctx.Done()
			return ctx.Err()
		})
		send(t, l, uuid.New(), 0)
		synctest.Wait()
		stop()
		if waited := time.Since(start); waited != 20*time.Second {
			t.Errorf("Run ended after %v, want the grace of 20s", waited)
		}
		if l.Len() != 1 {
			t.Errorf("the message of a cancelled handler is gone")
		}
	})
}

// A receiver that is being stopped gives a message back while another one waits: it need not wait for the visibility.
func TestLocalFailureOfAStoppedReceiverReachesTheNextOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, seen := queue.NewLocal(queue.LocalConfig{RetryDelay: time.Second}), moments{start: time.Now()}
		stopFirst := run(t, l, func(ctx context.Context, _ uuid.UUID) error {
			time.Sleep(10 * time.Second)
			return errors.New("stopped in the middle")
		})
		send(t, l, uuid.New(), 0)
		pass(time.Second)
		stopSecond := run(t, l, func(context.Context, uuid.UUID) error { seen.add(); return nil })
		stopFirst()
		pass(time.Hour)
		if at := seen.list(); !slices.Equal(at, []time.Duration{11 * time.Second}) {
			t.Errorf("delivered at %v, want 11s", at)
		}
		stopSecond()
	})
}

func TestBackoff(t *testing.T) {
	t.Parallel()
	for receives, want := range []time.Duration{time.Second, time.Second, 2 * time.Second, 4 * time.Second, 5 * time.Second, 5 * time.Second} {
		if got := queue.Backoff(receives, time.Second, 5*time.Second); got != want {
			t.Errorf("receive %d: %v, want %v", receives, got, want)
		}
	}
	if got := queue.Backoff(1_000_000, time.Second, time.Hour); got != time.Hour {
		t.Errorf("a million receives: %v", got)
	}
}
