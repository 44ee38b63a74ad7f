package api

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"companyos/shared/task"
	"companyos/shared/wire"
)

// ServeHTTP puts what is the same for all routes around them: a name for the request, its path as routes have it, one
// line of log, and an answer even after a panic.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := s.Now()
	e := &exchange{ResponseWriter: w, id: s.requestID(r)}
	e.Header().Set("X-Request-Id", e.id)
	e.Header().Set("X-Content-Type-Options", "nosniff")
	e.Header().Set("Cache-Control", "no-store")
	r, end := s.limit(e, r)
	defer end()
	routed, ok := normalise(r)
	defer s.finish(e, routed, began)
	switch {
	case !ok:
		s.refuse(e, routed, nil)
	case r.Method == http.MethodHead && apiPath(routed): // the mux would take it for GET
		s.noRoute(e, routed)
	default:
		s.mux.ServeHTTP(e, routed)
	}
}

// apiPath says that a path belongs to the API's routes, not to its description.
func apiPath(r *http.Request) bool {
	return strings.HasPrefix(r.URL.Path, "/company/") || strings.HasPrefix(r.URL.Path, "/sandbox/")
}

func (s *server) requestID(r *http.Request) string {
	if s.RequestID != nil {
		if id := s.RequestID(r); id != "" {
			return id
		}
	}
	return uuid.NewString()
}

// exchange is a response, with what the log says about it.
type exchange struct {
	http.ResponseWriter
	id     string
	status int
	route  string
	user   string
	err    error
}

// WriteHeader keeps the status for the log.
func (e *exchange) WriteHeader(status int) {
	if e.status == 0 {
		e.status = status
	}
	e.ResponseWriter.WriteHeader(status)
}

// Unwrap lets http.ResponseController reach the connection.
func (e *exchange) Unwrap() http.ResponseWriter { return e.ResponseWriter }

// finish answers a panic and writes the request's one line.
func (s *server) finish(e *exchange, r *http.Request, began time.Time) {
	attrs := []slog.Attr{slog.String("request_id", e.id), slog.String("method", r.Method)}
	if v := recover(); v != nil {
		if err, ok := v.(error); ok && errors.Is(err, http.ErrAbortHandler) {
			panic(v)
		}
		attrs = append(attrs, slog.Any("panic", v), slog.String("stack", string(debug.Stack())))
		e.err = &task.Error{Kind: task.KindInternal, Detail: "panic"}
		if e.status == 0 {
			s.writeProblem(e, r, e.id, e.err)
		}
	}
	level := slog.LevelInfo
	if e.status >= http.StatusInternalServerError {
		level = slog.LevelError
	}
	attrs = append(attrs, slog.String("route", e.route), slog.Int("status", e.status), slog.Duration("took", s.Now().Sub(began)))
	if e.user != "" {
		attrs = append(attrs, slog.String("user_id", e.user))
	}
	for _, name := range []string{"task_id", "run_id"} {
		if id := r.PathValue(name); id != "" {
			attrs = append(attrs, slog.String(name, id))
		}
	}
	if e.err != nil {
		attrs = append(attrs, slog.String("error", e.err.Error()))
	}
	s.Log.LogAttrs(context.WithoutCancel(r.Context()), level, "request", attrs...)
}

// serve makes a route's checks in the contract's order and calls its handler.
func (s *server) serve(w http.ResponseWriter, r *http.Request, route *wire.Route, handle handler) {
	e := w.(*exchange)
	e.route = route.Name
	checked := &request{Request: r, id: e.id, route: route, handle: handle}
	answer, err := s.answer(r.Context(), e, checked)
	e.user = checked.caller.ID
	if err != nil {
		e.err = err
		s.writeProblem(e, r, e.id, err)
		return
	}
	switch answer.(type) {
	case written:
	case nil:
		e.WriteHeader(route.Status)
	default:
		s.writeJSON(e, r, route.Status, answer)
	}
}

func (s *server) answer(ctx context.Context, e *exchange, r *request) (any, error) {
	if err := s.authorize(r); err != nil {
		return nil, err
	}
	var err error
	if r.route.Body != nil {
		if r.body, err = readBody(e, r.Request, r.route.MaxBody); err != nil {
			return nil, err
		}
	}
	var fields []wire.FieldError
	if r.query, fields = r.route.Query.Decode(r.URL.RawQuery); fields != nil {
		return nil, &invalid{fields: fields}
	}
	r.dropImpossibleIDs()
	return r.handle(ctx, e, r)
}

// dropImpossibleIDs empties the ids that no record can have because no database holds such text; an empty id has no
// record either, and asking for it is no error.
func (r *request) dropImpossibleIDs() {
	for _, name := range idNames {
		if id := r.PathValue(name); !utf8.ValidString(id) || strings.ContainsRune(id, 0) {
			r.SetPathValue(name, "")
		}
	}
}

// idNames are the ids in patterns.
var idNames = []string{"product_id", "source_id", "routine_id", "project_id", "task_id", "run_id"}

// authorize finds out who calls and whether this route is theirs to call. A sandbox's token is looked at before anybody
// asks the database about it.
func (s *server) authorize(r *request) (err error) {
	switch r.route.Caller {
	case wire.CallerPublic:
		return nil
	case wire.CallerSandbox:
		r.token, err = sandboxToken(r.Request, r.route.Name)
		return err
	case wire.CallerAgent:
		return s.agentCaller(r)
	case wire.CallerPerson:
	}
	if r.caller, err = s.Auth.Person(r.Request); err != nil {
		return err
	}
	return requireScopes(r.caller, r.route.Scopes)
}

// readBody reads at most limit bytes.
func readBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	if r.ContentLength > limit {
		return nil, tooLarge(limit)
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if _, over := errors.AsType[*http.MaxBytesError](err); over {
		return nil, tooLarge(limit)
	}
	if err != nil {
		return nil, &task.Error{
			Kind: task.KindInvalid, Code: codeInvalidRequest, Detail: "The request's body did not arrive whole", Remedy: "Send it again.",
			Retryable: true, Err: err,
		}
	}
	return body, nil
}

func tooLarge(limit int64) error {
	return &task.Error{
		Kind: task.KindTooLarge, Code: "body_too_large", Detail: "Request body is too large",
		Remedy: "Send at most " + kib(limit) + ".",
	}
}

// noRoute answers what no route matches: 405 where another method has one, else 404.
func (s *server) noRoute(w http.ResponseWriter, r *http.Request) {
	s.refuse(w.(*exchange), r, s.allowed(r))
}

// refuse answers a request without a route. Whoever may not call the API at all is not told which paths it has.
func (s *server) refuse(e *exchange, r *http.Request, allowed []string) {
	if strings.HasPrefix(r.URL.Path, "/company/") {
		caller, err := s.Auth.Person(r)
		if err != nil {
			e.err = err
			s.writeProblem(e, r, e.id, err)
			return
		}
		e.user = caller.ID
	}
	status, p := http.StatusNotFound, problem{Detail: "Not Found", Code: "no_route", Remedy: "See /docs for what there is.", RequestID: e.id}
	if len(allowed) > 0 {
		status, p.Detail, p.Code = http.StatusMethodNotAllowed, "Method Not Allowed", "method_not_allowed"
		e.Header().Set("Allow", strings.Join(allowed, ", "))
	}
	s.writeJSON(e, r, status, p)
}

// allowed are the methods that the path has.
func (s *server) allowed(r *http.Request) []string {
	var out []string
	for _, m := range s.methods {
		probe := r.Clone(r.Context())
		probe.Method = m
		if _, pattern := s.mux.Handler(probe); strings.HasPrefix(pattern, m+" ") {
			out = append(out, m)
		}
	}
	slices.Sort(out)
	return out
}
