package agent

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"companyos/shared/agent/redact"
	"companyos/shared/wire"
)

// The bounds of a run's events. A batch stays below the API's 256 KiB; past the total only the count of what was left out
// is told.
const (
	heartbeat      = 2 * time.Second        // at most so long between two calls, so that a cancel is heard
	gather         = 200 * time.Millisecond // so long events are gathered into one batch
	batchBytes     = 192 << 10
	batchEvents    = 500
	totalBytes     = 8 << 20
	totalEvents    = 20_000
	textLimit      = 32 << 10
	inputLimit     = 8 << 10
	pathsLimit     = 200
	eventsReserved = 64 // the last words of a run get through whatever came before
)

// reporter sends a run's events, in order, and hears what the API says to them. Events wait in memory, bounded, while
// the API does not answer.
type reporter struct {
	client *wire.SandboxClient
	redact *redact.Redactor
	now    func() time.Time
	log    *slog.Logger

	cancelled func()      // the API wants the run to end
	fenced    func(error) // the run is not ours any more

	wake chan struct{}
	stop chan struct{}
	done chan struct{}

	mu      sync.Mutex
	pending []wire.Event
	bytes   int // of all events
	count   int
	dropped int

	n int // batches sent; only the sending goroutine uses it
}

func newReporter(client *wire.SandboxClient, by *redact.Redactor, now func() time.Time, log *slog.Logger) *reporter {
	return &reporter{
		client: client, redact: by, now: now, log: log,
		wake: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}),
	}
}

// add puts an event in line.
func (r *reporter) add(events ...wire.Event) { r.put(totalEvents, events) }

// addLast puts an event of the run's end in line, for which there is always room.
func (r *reporter) addLast(events ...wire.Event) { r.put(totalEvents+eventsReserved, events) }

func (r *reporter) put(most int, events []wire.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range events {
		e.At = r.now().Unix()
		r.bound(&e)
		text, err := json.Marshal(e)
		if err != nil || r.count >= most || (most == totalEvents && r.bytes+len(text) > totalBytes) {
			r.dropped++
			continue
		}
		r.pending = append(r.pending, e)
		r.bytes += len(text)
		r.count++
	}
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// bound cuts what is too long and takes secrets out.
func (r *reporter) bound(e *wire.Event) {
	clean := func(text *string, limit int) {
		*text = cut(r.redact.String(strings.ToValidUTF8(*text, "\uFFFD")), limit)
	}
	clean(&e.Text, textLimit)
	clean(&e.Output, textLimit)
	clean(&e.Input, inputLimit)
	clean(&e.Tool, 200)
	clean(&e.ToolID, 200)
	clean(&e.Host, 300)
	if len(e.Paths) > pathsLimit {
		e.Paths = e.Paths[:pathsLimit]
	}
}

// run sends until finish is called or ctx ends.
func (r *reporter) run(ctx context.Context) {
	defer close(r.done)
	for {
		ending := r.wait(ctx)
		if ctx.Err() != nil || !r.send(ctx) {
			return
		}
		if ending && r.empty() {
			return
		}
	}
}

// wait returns when there is something to send or it is time to ask, and whether the end has come.
func (r *reporter) wait(ctx context.Context) (ending bool) {
	ask := time.NewTimer(heartbeat)
	defer ask.Stop()
	select {
	case <-ctx.Done():
		return true
	case <-r.stop:
		return true
	case <-ask.C:
		return false
	case <-r.wake:
	}
	more := time.NewTimer(gather)
	defer more.Stop()
	select {
	case <-ctx.Done():
	case <-r.stop:
		return true
	case <-more.C:
	}
	return false
}

// send sends one batch. An empty one repeats the last number: nothing is stored for it, and the answer is the same.
// False ends the sending.
func (r *reporter) send(ctx context.Context) bool {
	batch := r.take()
	if len(batch) > 0 || r.n == 0 {
		r.n++
	}
	answer, err := r.client.Events(ctx, wire.EventsRequest{N: r.n, Events: batch})
	switch {
	case err == nil:
		if answer.Cancel {
			r.cancelled()
		}
		return true
	case errors.Is(err, wire.ErrFenced), errors.Is(err, wire.ErrTokenRefused):
		r.fenced(err)
		return false
	case ctx.Err() != nil:
		return false
	default:
		// A batch that the API will never take must not hold back the ones behind it.
		r.log.Warn("events were refused", "n", r.n, "events", len(batch), "error", err)
		return true
	}
}

func (r *reporter) take() []wire.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	n, size := 0, 0
	for n < len(r.pending) && n < batchEvents {
		text, _ := json.Marshal(r.pending[n])
		if n > 0 && size+len(text) > batchBytes {
			break
		}
		size += len(text)
		n++
	}
	batch := append([]wire.Event(nil), r.pending[:n]...)
	r.pending = append(r.pending[:0], r.pending[n:]...)
	if len(r.pending) > 0 {
		select { // the rest follows soon
		case r.wake <- struct{}{}:
		default:
		}
	}
	return batch
}

func (r *reporter) empty() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.pending) == 0
}

// left says how many events found no room.
func (r *reporter) left() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.dropped
}

// finish sends what is in line, for as long as ctx allows.
func (r *reporter) finish(ctx context.Context) {
	close(r.stop)
	select {
	case <-ctx.Done():
	case <-r.done:
	}
}

// cut shortens a text and says so.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + " [cut]"
}
