// Package task holds the rules of a Task and of its runs: states, transitions, reservation, the pin, ownership and
// what has to be done for a run as it is observed. It is pure: no I/O, no clock, no randomness.
package task

import (
	"errors"
	"fmt"
)

// Kind classifies an error for whoever has to answer it. One switch (shared/api) maps kinds to HTTP.
type Kind string

// The kinds of errors.
const (
	KindInvalid      Kind = "invalid"      // the request breaks a rule whatever the state is: 422
	KindNotFound     Kind = "not_found"    // 404
	KindForbidden    Kind = "forbidden"    // 403
	KindUnauthorized Kind = "unauthorized" // 401
	KindConflict     Kind = "conflict"     // the present state forbids it: 409
	KindTooLarge     Kind = "too_large"    // 413
	KindBusy         Kind = "busy"         // a bounded resource is full: 429
	KindUnavailable  Kind = "unavailable"  // try again later: 503
	KindInternal     Kind = "internal"     // 500; its text never reaches a client
)

// Error is an error with a meaning for the caller.
type Error struct {
	Kind      Kind
	Code      string // stable, machine-readable, snake_case
	Detail    string // the contract's text
	Remedy    string // what to do, one sentence
	Retryable bool   // the same request may succeed later
	Open      []Ref  // records that stand in the way (a refused archive)
	Err       error  // cause, never shown to a client
}

// Ref names a record in an error.
type Ref struct {
	ID    string
	Title string
}

// Error returns the detail and, for logs, the cause.
func (e *Error) Error() string {
	if e.Err != nil {
		return e.Detail + ": " + e.Err.Error()
	}
	return e.Detail
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Conflictf, Invalidf, NotFoundf and Forbiddenf build the common errors.
func Conflictf(code, remedy, format string, a ...any) *Error {
	return &Error{Kind: KindConflict, Code: code, Remedy: remedy, Detail: fmt.Sprintf(format, a...)}
}

// Invalidf is a broken rule of the request.
func Invalidf(code, remedy, format string, a ...any) *Error {
	return &Error{Kind: KindInvalid, Code: code, Remedy: remedy, Detail: fmt.Sprintf(format, a...)}
}

// NotFound says that a record of this kind ("Task", "Product") is not there or archived.
func NotFound(what string) *Error {
	return &Error{Kind: KindNotFound, Code: "not_found", Detail: what + " not found", Remedy: "Check the id; an archived record is shown with include_deleted=true."}
}

// Unavailable is a passing failure of something the service depends on.
func Unavailable(code, detail string, err error) *Error {
	return &Error{Kind: KindUnavailable, Code: code, Detail: detail, Remedy: "Try again in a few seconds.", Retryable: true, Err: err}
}

// KindOf returns the kind of err, KindInternal for an error that carries none.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return KindInternal
}
