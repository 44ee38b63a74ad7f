package agent

import (
	"errors"
	"fmt"

	"companyos/shared/task"
)

// The names of the limits, as a run's end tells which one fired.
const (
	LimitPrepare = "prepare"
	LimitRun     = "run"
	LimitIdle    = "idle"
	LimitOutput  = "output"
	LimitBudget  = "budget"
)

// EndError ends a run with a kind. Its text is for people and goes into the result.
type EndError struct {
	Kind  task.EndKind
	Text  string
	Limit string // the limit that fired, empty for none
	Err   error  // for the log
}

// Error is the text and, for logs, the cause.
func (f *EndError) Error() string {
	if f.Err != nil {
		return fmt.Sprintf("%s: %s: %v", f.Kind, f.Text, f.Err)
	}
	return fmt.Sprintf("%s: %s", f.Kind, f.Text)
}

// Unwrap returns the cause.
func (f *EndError) Unwrap() error { return f.Err }

// failuref makes a failure.
func failuref(kind task.EndKind, err error, format string, a ...any) *EndError {
	return &EndError{Kind: kind, Text: fmt.Sprintf(format, a...), Err: err}
}

// failureOf is the failure in err, or one of kind internal.
func failureOf(err error) *EndError {
	if f, ok := errors.AsType[*EndError](err); ok {
		return f
	}
	return failuref(task.EndInternal, err, "The sandbox failed: %v", err)
}
