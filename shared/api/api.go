// Package api is the HTTP server of a Company: it authenticates, checks requests against shared/wire's tables, calls one
// use case of shared/app per route and writes the answer or the problem.
package api

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"companyos/shared/app"
	"companyos/shared/task"
	"companyos/shared/wire"
)

// Config is what the server needs.
type Config struct {
	Company *app.Company
	Auth    *Verifier
	Log     *slog.Logger
	Now     func() time.Time // time.Now when nil

	Patience time.Duration // with one request; 28 seconds when 0

	// RequestID names a request where whoever received it has a name for it already; nil or an empty name: a new one.
	RequestID func(*http.Request) string

	// Blobs serves signed uploads and downloads below /sandbox/blobs/ where no object store does; nil elsewhere.
	Blobs http.Handler
}

// server is the handler of all routes.
type server struct {
	Config
	mux     *http.ServeMux
	methods []string // all that the table has
	tools   []tool   // for agents
	schemas *mcp.SchemaCache
}

// request is a checked request: authenticated, its query and size right.
type request struct {
	*http.Request
	id     string
	route  *wire.Route
	handle handler
	caller task.Caller // of a person's route
	token  string      // of a sandbox's route
	query  wire.Query
	body   []byte
}

// handler answers a route: with a record, with nil for none, or, after it wrote the answer itself, with written.
type handler func(ctx context.Context, w http.ResponseWriter, r *request) (any, error)

// written is what a handler returns that wrote its own answer.
type written struct{}

// New builds the server. It panics where the table of routes and the one of handlers name different routes.
func New(c Config) http.Handler {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Patience == 0 {
		c.Patience = defaultPatience
	}
	s := &server{Config: c, mux: http.NewServeMux(), tools: toolTable(), schemas: mcp.NewSchemaCache()}
	handlers := s.table()
	seen := map[string]bool{}
	for i := range wire.Routes {
		route := &wire.Routes[i]
		handle, ok := handlers[route.Name]
		if !ok {
			panic("the route " + route.Name + " has no handler")
		}
		delete(handlers, route.Name)
		s.mux.HandleFunc(route.Method+" "+route.Pattern, func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, route, handle) })
		if !seen[route.Method] {
			seen[route.Method] = true
			s.methods = append(s.methods, route.Method)
		}
	}
	for name := range handlers {
		panic("the handler " + name + " has no route")
	}
	if c.Blobs != nil {
		s.mux.Handle("/sandbox/blobs/", c.Blobs)
	}
	s.mux.HandleFunc("/", s.noRoute)
	return s
}

// table binds the routes of shared/wire to their handlers.
func (s *server) table() map[string]handler {
	return map[string]handler{
		"openapi": s.openapi,
		"docs":    s.docs,

		"products.list":    s.listProducts,
		"products.create":  creates(s, s.createProduct, productRecord),
		"products.get":     s.getProduct,
		"products.update":  with(s.updateProduct),
		"products.delete":  s.deleteProduct,
		"products.restore": s.restoreProduct,

		"sources.list":    s.listSources,
		"sources.create":  creates(s, s.createSource, wire.NewSource),
		"sources.delete":  s.deleteSource,
		"sources.restore": s.restoreSource,

		"setup": creates(s, s.setup, func(p app.SetUp) wire.ProductRow { return wire.NewProductRow(p.Product) }),

		"projects.list":       s.listProjects,
		"projects.create":     creates(s, s.createProject, projectRecord),
		"projects.get":        s.getProject,
		"projects.update":     with(s.updateProject),
		"projects.delete":     s.deleteProject,
		"projects.restore":    s.restoreProject,
		"projects.transition": with(s.moveProject),

		"tasks.list":       s.listTasks,
		"tasks.create":     creates(s, s.createTask, s.taskRecord),
		"tasks.get":        s.getTask,
		"tasks.update":     with(s.updateTask),
		"tasks.delete":     s.deleteTask,
		"tasks.restore":    s.restoreTask,
		"tasks.transition": with(s.moveTask),
		"tasks.start":      with(s.startRun),
		"tasks.runs":       s.listRuns,

		"product_wiki.list":  s.listPages,
		"product_wiki.read":  s.readPage,
		"product_wiki.write": with(s.writePage),
		"wiki.list":          s.listPages,
		"wiki.read":          s.readPage,
		"wiki.write":         with(s.writePage),

		"decisions.list":   s.listDecisions,
		"decisions.create": creates(s, s.createDecision, wire.NewDecision),

		"routines.list":    s.listRoutines,
		"routines.create":  creates(s, s.createRoutine, wire.NewRoutine),
		"routines.get":     s.getRoutine,
		"routines.update":  with(s.updateRoutine),
		"routines.trigger": s.triggerRoutine,
		"routines.pause":   s.pauseRoutine,
		"routines.resume":  s.resumeRoutine,
		"routines.runs":    s.routineRuns,

		"executors": s.listExecutors,
		"mcp":       s.mcp,

		"runs.get":    s.getRun,
		"runs.events": s.runEvents,
		"runs.patch":  s.runArtifact(task.ArtifactPatch),
		"runs.log":    s.runArtifact(task.ArtifactLog),
		"runs.cancel": s.cancelRun,
		"attention":   s.attention,

		"sandbox.claim":     with(s.claim),
		"sandbox.prepared":  with(s.prepared),
		"sandbox.events":    with(s.events),
		"sandbox.artifacts": with(s.artifact),
		"sandbox.result":    with(s.result),
	}
}

// with decodes the body by the route's table before the handler sees it.
func with[T any](h func(ctx context.Context, r *request, in T) (any, error)) handler {
	return func(ctx context.Context, _ http.ResponseWriter, r *request) (any, error) {
		table, ok := r.route.Body.(*wire.Body[T])
		if !ok {
			return nil, &task.Error{Kind: task.KindInternal, Detail: "the route " + r.route.Name + " has another body"}
		}
		in, fields := table.Decode(r.body)
		if fields != nil {
			return nil, &invalid{fields: fields}
		}
		return h(ctx, r, in)
	}
}
