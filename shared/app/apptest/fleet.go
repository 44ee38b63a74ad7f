// Package apptest runs the use cases of a Company against a real database, with everything else as a double that behaves
// as badly as the real thing may: a launcher that loses answers, a queue that repeats, delays and loses messages, and
// time that passes when a test says so.
package apptest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"companyos/shared/sandbox"
	"companyos/shared/task"
)

// Fault is what goes wrong with one call of a double.
type Fault string

// The faults. Before: the call has no effect and its caller gets an error. After: it has its effect, and its caller gets
// the same error. Crash: it has its effect, and its caller dies. The others are answers of a launcher.
const (
	FaultNone      Fault = ""
	FaultBefore    Fault = "before"
	FaultAfter     Fault = "after"
	FaultCrash     Fault = "crash"
	FaultCapacity  Fault = "capacity"
	FaultThrottled Fault = "throttled"
	FaultImage     Fault = "image"
)

// ErrFault is the error of a call that was lost on its way there or back.
var ErrFault = errors.New("the connection was reset")

// Crash is what a caller dies of. A test recovers it, as the platform would start another process.
type Crash struct{ Call string }

// Box is one sandbox of a Fleet.
type Box struct {
	Handle    string
	Spec      sandbox.Spec
	Alive     bool
	StopAsked bool
	Reason    task.EndKind
	ListedAt  time.Time // when List begins to show it
	StoppedAt time.Time
}

// Fleet is a launcher in the manner of Amazon ECS.
type Fleet struct {
	Plan func(call string) Fault // of the next call: start, describe, list, stop
	Lag  time.Duration           // between a start and List showing it

	mu    sync.Mutex
	clock *Clock
	boxes []*Box
	calls map[string]int
}

// forgets is how long after its stop a launcher still knows a sandbox.
const forgets = time.Hour

// fault asks the plan about a call, before the call: a plan may do something itself in that moment.
func (f *Fleet) fault(call string) Fault {
	f.mu.Lock()
	f.calls[call]++
	plan := f.Plan
	f.mu.Unlock()
	if plan == nil {
		return FaultNone
	}
	return plan(call)
}

// Calls counts the calls of one method.
func (f *Fleet) Calls(call string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[call]
}

// Start implements app.Sandboxes. The launch is its client token: the same one never starts a second sandbox.
func (f *Fleet) Start(ctx context.Context, spec sandbox.Spec) (string, error) {
	fault := f.fault("start")
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return "", err
	}
	switch fault {
	case FaultBefore:
		return "", ErrFault
	case FaultThrottled:
		return "", sandbox.ErrThrottled
	case FaultNone, FaultAfter, FaultCrash, FaultCapacity, FaultImage:
	}
	box := f.launch(spec.RunID, spec.Launch)
	switch {
	case box != nil:
		// ECS answers a repeated client token with the task that it started.
		if box.Spec != spec {
			return "", fmt.Errorf("the launch was repeated with other bytes: %+v and %+v", box.Spec, spec)
		}
	case fault == FaultCapacity:
		return "", sandbox.ErrNoCapacity
	case fault == FaultImage:
		return "", sandbox.ErrImageUnavailable
	default:
		box = &Box{Handle: fmt.Sprintf("box-%d", len(f.boxes)+1), Spec: spec, Alive: true, ListedAt: f.clock.Now().Add(f.Lag)}
		f.boxes = append(f.boxes, box)
	}
	return box.Handle, after(fault, "start")
}

func (f *Fleet) launch(runID string, launch int) *Box {
	for _, b := range f.boxes {
		if b.Spec.RunID == runID && b.Spec.Launch == launch {
			return b
		}
	}
	return nil
}

func after(fault Fault, call string) error {
	switch fault {
	case FaultAfter:
		return ErrFault
	case FaultCrash:
		panic(Crash{call})
	case FaultNone, FaultBefore, FaultCapacity, FaultThrottled, FaultImage:
	}
	return nil
}

// Describe implements app.Sandboxes.
func (f *Fleet) Describe(_ context.Context, handle string) (sandbox.Status, error) {
	if fault := f.fault("describe"); fault == FaultBefore || fault == FaultAfter {
		return sandbox.Status{}, ErrFault
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, b := range f.boxes {
		if b.Handle == handle && !f.forgotten(b) {
			return status(b), nil
		}
	}
	return sandbox.Status{State: sandbox.StateMissing}, nil
}

func (f *Fleet) forgotten(b *Box) bool {
	return !b.Alive && f.clock.Now().Sub(b.StoppedAt) > forgets
}

func status(b *Box) sandbox.Status {
	s := sandbox.Status{Handle: b.Handle, RunID: b.Spec.RunID, Launch: b.Spec.Launch, State: sandbox.StateRunning}
	if !b.Alive {
		s.State, s.Reason, s.StoppedAt = sandbox.StateStopped, b.Reason, b.StoppedAt
	}
	return s
}

// List implements app.Sandboxes.
func (f *Fleet) List(_ context.Context, runID string, launch int) ([]sandbox.Status, error) {
	if fault := f.fault("list"); fault == FaultBefore || fault == FaultAfter {
		return nil, ErrFault
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []sandbox.Status
	for _, b := range f.boxes {
		if b.Spec.RunID == runID && b.Spec.Launch == launch && !f.forgotten(b) && !b.ListedAt.After(f.clock.Now()) {
			all = append(all, status(b))
		}
	}
	return all, nil
}

// Stop implements app.Sandboxes. The sandbox runs until End.
func (f *Fleet) Stop(_ context.Context, handle, _ string) error {
	fault := f.fault("stop")
	f.mu.Lock()
	defer f.mu.Unlock()
	if fault == FaultBefore {
		return ErrFault
	}
	for _, b := range f.boxes {
		if b.Handle == handle {
			b.StopAsked = true
		}
	}
	return after(fault, "stop")
}

// End stops a sandbox for a reason; empty: it ended by itself, or was told to.
func (f *Fleet) End(b *Box, reason task.EndKind) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if b.Alive {
		b.Alive, b.Reason, b.StoppedAt = false, reason, f.clock.Now()
	}
}

// Boxes returns all sandboxes that were ever started.
func (f *Fleet) Boxes() []*Box {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]*Box(nil), f.boxes...)
}

// Alive returns the sandboxes that run.
func (f *Fleet) Alive() (alive []*Box) {
	for _, b := range f.Boxes() {
		if b.Alive {
			alive = append(alive, b)
		}
	}
	return alive
}
