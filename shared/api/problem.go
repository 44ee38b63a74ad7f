package api

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strconv"

	"companyos/shared/app"
	"companyos/shared/task"
	"companyos/shared/wire"
)

// problem is the body of an answer with an error status.
type problem struct {
	Detail    any    `json:"detail"` // a text, the list of a 422, or a refused archive
	Code      string `json:"code"`
	Remedy    string `json:"remedy"`
	Retryable bool   `json:"retryable"`
	RequestID string `json:"request_id"`

	// The contract's further names for the one error that has them.
	ErrorID   string `json:"error_id,omitempty"`
	ErrorType string `json:"error_type,omitempty"`
}

// refusedArchive is the detail of a refused archive.
type refusedArchive struct {
	Message string          `json:"message"`
	Tasks   []wire.OpenTask `json:"tasks"`
}

// invalid is a request whose shape is wrong.
type invalid struct {
	fields []wire.FieldError
	remedy string // empty: to change those fields
}

func (i *invalid) Error() string { return "the request is not valid" }

// Codes of errors that have no rule behind them.
const (
	codeInvalidRequest = "invalid_request"
	codeInternal       = "internal"
	codeSourceRule     = "source_rule"
)

// statusOf is the one place where kinds of errors become status codes.
func statusOf(k task.Kind) int {
	switch k {
	case task.KindInvalid:
		return http.StatusUnprocessableEntity
	case task.KindNotFound:
		return http.StatusNotFound
	case task.KindForbidden:
		return http.StatusForbidden
	case task.KindUnauthorized:
		return http.StatusUnauthorized
	case task.KindConflict:
		return http.StatusConflict
	case task.KindTooLarge:
		return http.StatusRequestEntityTooLarge
	case task.KindBusy:
		return http.StatusTooManyRequests
	case task.KindUnavailable:
		return http.StatusServiceUnavailable
	case task.KindInternal:
		return http.StatusInternalServerError
	default:
		return http.StatusInternalServerError
	}
}

// retryAfter is how many seconds a client should wait, 0 for an error that time alone does not mend.
func retryAfter(status int, retryable bool) int {
	switch {
	case status == http.StatusServiceUnavailable:
		return 2
	case status == http.StatusTooManyRequests:
		return 10
	case retryable:
		return 1
	}
	return 0
}

// explain turns an error into an answer. What a client sees is written by us: a cause never is.
func explain(err error) (status int, p problem) {
	if bad, ok := errors.AsType[*invalid](err); ok {
		return http.StatusUnprocessableEntity, problem{Detail: bad.fields, Code: codeInvalidRequest, Remedy: cmp.Or(bad.remedy, "Change the fields that detail names.")}
	}
	e, ok := errors.AsType[*task.Error](err)
	if !ok && (errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)) {
		e, ok = task.Unavailable("too_slow", "The request took too long", err), true
	}
	if !ok || e.Kind == task.KindInternal {
		return http.StatusInternalServerError, problem{
			Detail: "Internal server error", Code: codeInternal, Remedy: "Try again; if it happens again, tell the operator the request_id.",
		}
	}
	p = problem{Detail: e.Detail, Code: e.Code, Remedy: e.Remedy, Retryable: e.Retryable || e.Kind == task.KindBusy}
	if e.Code == app.CodeRemoteUnavailable {
		p.ErrorID, p.ErrorType = e.Code, e.Code
	}
	if len(e.Open) > 0 {
		refused := refusedArchive{Message: e.Detail, Tasks: make([]wire.OpenTask, len(e.Open))}
		for i, o := range e.Open {
			refused.Tasks[i] = wire.OpenTask{ID: o.ID, Title: o.Title}
		}
		p.Detail = refused
	}
	return statusOf(e.Kind), p
}

// writeProblem answers with an error.
func (s *server) writeProblem(w http.ResponseWriter, r *http.Request, id string, err error) {
	status, p := explain(err)
	p.RequestID = id
	if status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	if after := retryAfter(status, p.Retryable); after > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(after))
	}
	s.writeJSON(w, r, status, p)
}
