package netlock

import (
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode"
)

// Verdict is what was decided about a call.
type Verdict string

const (
	VerdictAllow Verdict = "allow"
	VerdictDeny  Verdict = "deny"
	// VerdictNote is about the lock itself: something dropped, something weaker than it could be.
	VerdictNote Verdict = "note"
)

// Event is one decision, or several like it. Calls that the filter refuses
// alone (io_uring, namespaces, MSG_FASTOPEN, …) make no event.
type Event struct {
	Time    time.Time `json:"time"`
	Verdict Verdict   `json:"verdict"`
	Call    string    `json:"call"`              // connect, bind, listen, socket; empty in a note
	Target  string    `json:"target"`            // an address, a kind of socket, or the note
	PID     int       `json:"pid,omitempty"`     // thread that made the first of these calls
	Program string    `json:"program,omitempty"` // its name, which the command chooses
	Errno   int       `json:"errno,omitempty"`   // what the first of these calls returned
	Count   int       `json:"count"`             // 1, or how many were folded into this event
}

// String explains the event in a sentence.
func (e Event) String() string {
	n := ""
	if e.Count > 1 {
		n = fmt.Sprintf(" (%d times)", e.Count)
	}
	if e.Verdict == VerdictNote {
		return e.Target + n
	}
	what := map[Verdict]string{VerdictAllow: "allowed", VerdictDeny: "refused"}[e.Verdict]
	switch e.Call {
	case "connect":
		return fmt.Sprintf("%s: connection to %s%s", what, e.Target, n)
	case "bind", "listen":
		return fmt.Sprintf("%s: serving on %s%s", what, e.Target, n)
	default:
		return fmt.Sprintf("%s: %s %s%s", what, e.Call, e.Target, n)
	}
}

// printable makes a text that the command chose fit for a terminal and a log.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
}

// Bounds of the events of one command. A command can make some ten thousand
// refused calls a second; what its observer sees is bounded by these.
const (
	eventWindow  = time.Second // repeats of an event are folded for this long
	eventsWindow = 64          // events that one window lets through
	eventKeys    = 64          // different events remembered for folding
	eventTarget  = 160         // bytes of a target kept
)

type eventKey struct {
	verdict      Verdict
	call, target string
}

// recorder folds and limits events and hands them to one function, never two
// at a time, never from a goroutine that answers the command.
type recorder struct {
	sink func(Event)
	now  func() time.Time

	mu      sync.Mutex
	folded  map[eventKey]*Event // since the last flush; Count 0 was already handed over
	ready   []Event
	sent    int // in this window
	dropped int // in this window
	wake    chan struct{}
	quit    chan struct{}
	idle    chan struct{}
}

func newRecorder(sink func(Event)) *recorder {
	r := &recorder{
		sink: sink, now: time.Now, folded: map[eventKey]*Event{},
		wake: make(chan struct{}, 1), quit: make(chan struct{}), idle: make(chan struct{}),
	}
	go r.run()
	return r
}

// add records one decision. It never blocks on the sink. The program's name is
// asked for only when it will be told.
func (r *recorder) add(e Event, program func() string) {
	if len(e.Target) > eventTarget {
		e.Target = e.Target[:eventTarget] + "…"
	}
	e.Target = printable(e.Target)
	e.Count = 1
	r.mu.Lock()
	defer r.mu.Unlock()
	k := eventKey{e.Verdict, e.Call, e.Target}
	if seen, ok := r.folded[k]; ok {
		if seen.Count == 0 {
			*seen = e
			seen.Time, seen.Program = r.now(), program()
			return
		}
		seen.Count++
		return
	}
	if len(r.folded) >= eventKeys || r.sent >= eventsWindow {
		r.dropped++
		return
	}
	r.folded[k] = &Event{}
	r.sent++
	e.Time, e.Program = r.now(), program()
	r.ready = append(r.ready, e)
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// close hands over what is left and waits for the sink.
func (r *recorder) close() {
	close(r.quit)
	<-r.idle
}

func (r *recorder) run() {
	defer close(r.idle)
	tick := time.NewTicker(eventWindow)
	defer tick.Stop()
	for {
		select {
		case <-r.wake:
			r.hand(r.take(false))
		case <-tick.C:
			r.hand(r.take(true))
		case <-r.quit:
			r.hand(r.take(true))
			return
		}
	}
}

// take empties what is ready; at the end of a window also what was folded.
func (r *recorder) take(window bool) []Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.ready
	r.ready = nil
	if !window {
		return out
	}
	for k, e := range r.folded {
		if e.Count == 0 {
			delete(r.folded, k) // quiet for a whole window: the next one is news again
			continue
		}
		out = append(out, *e)
		r.folded[k] = &Event{}
	}
	if r.dropped > 0 {
		out = append(out, Event{
			Time: r.now(), Verdict: VerdictNote, Count: r.dropped,
			Target: "events dropped: too many different ones in a second",
		})
	}
	r.sent, r.dropped = 0, 0
	return out
}

func (r *recorder) hand(es []Event) {
	for _, e := range es {
		r.sink(e)
	}
}
