// Package sandbox is the launch side of a sandbox: what a launch is made of and what a launcher can say about it.
//
// A launcher starts one supervisor for one launch of one run. It knows nothing of Tasks, pins or results: those travel
// between the supervisor and the sandbox API. The launchers are siblings of this package (process, docker, fargate) and
// pass one conformance suite (sandboxtest).
package sandbox

import (
	"context"
	"errors"
	"time"

	"companyos/shared/task"
)

// Spec is one launch. Two Starts with the same RunID and Launch carry the same bytes; whoever wants to change anything
// makes the next launch.
type Spec struct {
	RunID  string
	Launch int    // counted from 1 by the run
	Token  string // the launch token, the only secret that a launcher ever sees
	APIURL string // base of the sandbox API, without a trailing slash
	CPU    int    // CPU units, 1024 to a core
	Memory int    // MiB
	Disk   int    // GiB

	// Harness is what the executor runs. It is not passed to the sandbox, which learns it by its claim; a launcher that
	// cannot contain this harness answers ErrRefused.
	Harness string
}

// State is what is known of a launch's sandbox.
type State string

// The states of a sandbox. Starting: the launcher took the order and nothing runs yet. Missing: the launcher knows no
// such sandbox (any more); for an existing handle this counts as stopped.
const (
	StateStarting State = "starting"
	StateRunning  State = "running"
	StateStopped  State = "stopped"
	StateMissing  State = "missing"
)

// Stopped says that nothing of this sandbox runs or will run.
func (s State) Stopped() bool { return s == StateStopped || s == StateMissing }

// Status is one sandbox as observed.
type Status struct {
	Handle    string // what Start answered: an ECS task's ARN, a container's name, a record's name
	RunID     string
	Launch    int
	State     State
	Image     string // the image or binary that runs, as the launcher names it
	StartedAt time.Time
	StoppedAt time.Time // zero while it runs, and where the launcher cannot tell
	ExitCode  *int      // nil where none is known

	// Reason is why it stopped where the launcher knows: never_started, image_unavailable, out_of_memory, no_capacity,
	// interrupted, storage_full, lost. Empty: it exited by itself, and what it did is for its result to say.
	Reason task.EndKind
	Detail string // for people; at most one line
}

// Sandboxes starts, looks at and stops sandboxes.
//
// All methods are safe for concurrent use by several processes on the same launcher.
type Sandboxes interface {
	// Start starts the launch, once: a repeat returns the handle of the first Start, also when that sandbox has stopped
	// since. It returns ErrNoCapacity, ErrImageUnavailable or ErrRefused when this launch certainly runs nothing,
	// ErrThrottled when the launcher did not look at the order, and any other error when the outcome is unknown: then
	// List tells, or Start with the same Spec settles it.
	Start(ctx context.Context, spec Spec) (handle string, err error)

	// Describe looks at one sandbox. An unknown handle is StateMissing, not an error.
	Describe(ctx context.Context, handle string) (Status, error)

	// List returns the sandboxes of one launch, stopped ones included as long as the launcher remembers them. An empty
	// list proves nothing while a Start may still arrive.
	List(ctx context.Context, runID string, launch int) ([]Status, error)

	// Stop asks for the end of a sandbox: SIGTERM, a grace, then everything in it is killed. It returns when the order
	// is placed and does not wait for the end; Describe tells when nothing runs. Stopping one that has stopped or is
	// missing is no error.
	Stop(ctx context.Context, handle, reason string) error
}

// The errors of Start. The first three are definite: nothing of this launch runs or will run.
var (
	ErrNoCapacity       = errors.New("no capacity for this sandbox now")
	ErrImageUnavailable = errors.New("the sandbox's image cannot be had")
	ErrRefused          = errors.New("this launcher does not take such a launch")
	ErrThrottled        = errors.New("the launcher asks to slow down")
)

// Outcome is what an error of Start says about the launch.
type Outcome string

// The outcomes of a Start.
const (
	OutcomeStarted   Outcome = "started"
	OutcomeFailed    Outcome = "failed"    // certainly nothing runs: the next attempt is the next launch
	OutcomeThrottled Outcome = "throttled" // certainly nothing runs: the same launch again, later
	OutcomeUnknown   Outcome = "unknown"   // it may run: the same bytes again, or List
)

// OutcomeOf classifies the error of a Start. What it does not know is unknown, never failed.
func OutcomeOf(err error) Outcome {
	switch {
	case err == nil:
		return OutcomeStarted
	case errors.Is(err, ErrThrottled):
		return OutcomeThrottled
	case errors.Is(err, ErrNoCapacity), errors.Is(err, ErrImageUnavailable), errors.Is(err, ErrRefused):
		return OutcomeFailed
	default:
		return OutcomeUnknown
	}
}

// EndKindOf is the kind of end for a definite failure of Start, empty for every other error. EndNoCapacity passes with
// time; the others do not.
func EndKindOf(err error) task.EndKind {
	switch {
	case errors.Is(err, ErrNoCapacity):
		return task.EndNoCapacity
	case errors.Is(err, ErrImageUnavailable):
		return task.EndImageUnavailable
	case errors.Is(err, ErrRefused):
		return task.EndNeverStarted
	default:
		return ""
	}
}
