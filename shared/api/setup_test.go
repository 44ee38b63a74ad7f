package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"companyos/shared/api"
	"companyos/shared/app"
	"companyos/shared/blob/dir"
	"companyos/shared/executor"
	"companyos/shared/sandbox"
	"companyos/shared/store/storetest"
	"companyos/shared/task"
)

const (
	testSecret   = "a secret of the tests, 32 bytes or more"
	testAudience = "company"
	repository   = "https://github.com/acme/app"
)

var everything = []string{
	"products:read", "products:write", "products:delete", "sources:read", "sources:write", "sources:delete",
	"projects:read", "projects:write", "projects:delete", "tasks:read", "tasks:write", "tasks:delete",
	"wiki:read", "wiki:write", "decisions:read", "decisions:write", "routines:read", "routines:write",
	"schedules:read", "schedules:write", "agents:run", "teams:run", "workflows:run",
}

// sent are the wakes that a test's queue got.
type sent struct {
	mu   sync.Mutex
	runs []uuid.UUID
}

func (q *sent) Send(_ context.Context, runID uuid.UUID, _ time.Duration) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.runs = append(q.runs, runID)
	return nil
}

// launched are the sandboxes that were asked for. Nothing runs in them: the tests play the supervisor.
type launched struct {
	mu    sync.Mutex
	specs []sandbox.Spec
	ended map[string]bool
}

func (l *launched) Start(_ context.Context, spec sandbox.Spec) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.specs = append(l.specs, spec)
	return handle(spec.RunID, spec.Launch), nil
}

func handle(runID string, launch int) string { return fmt.Sprintf("%s/%d", runID, launch) }

func (l *launched) Describe(_ context.Context, handle string) (sandbox.Status, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended[handle] {
		return sandbox.Status{Handle: handle, State: sandbox.StateStopped}, nil
	}
	return sandbox.Status{Handle: handle, State: sandbox.StateRunning}, nil
}

func (l *launched) List(ctx context.Context, runID string, launch int) ([]sandbox.Status, error) {
	status, err := l.Describe(ctx, handle(runID, launch))
	return []sandbox.Status{status}, err
}

func (l *launched) Stop(_ context.Context, handle, _ string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended == nil {
		l.ended = map[string]bool{}
	}
	l.ended[handle] = true
	return nil
}

// token is the launch token of a run's latest launch.
func (l *launched) token(tb testing.TB, runID string) string {
	tb.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, spec := range slices.Backward(l.specs) {
		if spec.RunID == runID {
			return spec.Token
		}
	}
	tb.Fatalf("no sandbox was asked for run %s", runID)
	return ""
}

// office is a server on a database of its own, and people who call it.
type office struct {
	t       *testing.T
	app     *app.Company
	config  api.Config
	handler http.Handler
	log     *bytes.Buffer
	wakes   *sent

	server    *httptest.Server
	sandboxes *launched
}

func verifier(t *testing.T, c api.AuthConfig) *api.Verifier {
	t.Helper()
	v, err := api.NewVerifier(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func setup(t *testing.T) *office {
	t.Helper()
	registry, err := executor.NewRegistry([]executor.Harness{executor.HarnessFixture, executor.HarnessWorkflow},
		executor.Executor{
			Kind: task.ExecutorAgent, ID: "engineer", Harness: executor.HarnessFixture,
			Repository: &executor.Repository{URL: repository, Branch: "main"},
			Sandbox:    &executor.Sandbox{CPU: 256, Memory: 512, Disk: 21}, Limits: executor.SandboxLimits(),
		},
		executor.Executor{Kind: task.ExecutorAgent, ID: "writer", Harness: executor.HarnessFixture})
	if err != nil {
		t.Fatal(err)
	}
	c := &office{t: t, log: &bytes.Buffer{}, wakes: &sent{}, sandboxes: &launched{}}
	c.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { c.handler.ServeHTTP(w, r) }))
	t.Cleanup(c.server.Close)
	blobs, err := dir.Open(t.TempDir(), dir.Config{BaseURL: c.server.URL})
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.NewJSONHandler(c.log, nil))
	c.app = app.New(app.Config{
		DB: storetest.Open(t), Blobs: blobs, Attempts: c.wakes, Work: c.wakes, Sandboxes: c.sandboxes, Executors: executor.Static(registry), Log: log, Clock: time.Now,
		MaxSandboxes: 2, MaxPending: 10, DispatchTimeout: time.Minute, ExecuteTimeout: time.Minute, PublicURL: c.server.URL,
		Secrets: func(context.Context, []string) (map[string]string, error) { return nil, nil },
	})
	c.config = api.Config{
		Company: c.app, Log: log, Blobs: blobs.Handler(),
		Auth: verifier(t, api.AuthConfig{HS256Secret: testSecret, Audience: testAudience}),
	}
	c.handler = api.New(c.config)
	return c
}

func token(t *testing.T, subject string, scopes []string) string {
	t.Helper()
	text, err := api.DevelopmentToken(testSecret, testAudience, subject, scopes, time.Now(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// answer is a response with its JSON read.
type answer struct {
	status int
	header http.Header
	raw    []byte
	body   map[string]any
}

func (a answer) detail() any { return a.body["detail"] }

func (a answer) text(name string) string {
	s, _ := a.body[name].(string)
	return s
}

// send makes a request with whatever Authorization header is given; body is JSON text, or a value to encode.
func (c *office) send(method, path, authorization string, body any) answer {
	c.t.Helper()
	var payload io.Reader = http.NoBody
	switch b := body.(type) {
	case nil:
	case string:
		payload = strings.NewReader(b)
	default:
		raw, err := json.Marshal(b)
		if err != nil {
			c.t.Fatal(err)
		}
		payload = bytes.NewReader(raw)
	}
	r := httptest.NewRequest(method, path, payload)
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	return c.do(r)
}

func (c *office) do(r *http.Request) answer {
	c.t.Helper()
	w := httptest.NewRecorder()
	c.handler.ServeHTTP(w, r)
	a := answer{status: w.Code, header: w.Header(), raw: w.Body.Bytes()}
	if strings.HasPrefix(w.Header().Get("Content-Type"), "application/json") && w.Header().Get("Content-Encoding") == "" && len(a.raw) > 0 {
		if err := json.Unmarshal(a.raw, &a.body); err != nil {
			c.t.Fatalf("%s %s: %v in %s", r.Method, r.URL, err, a.raw)
		}
	}
	return a
}

// alice calls with every scope.
func (c *office) alice(method, path string, body any) answer {
	c.t.Helper()
	return c.send(method, path, "Bearer "+token(c.t, "alice", everything), body)
}

// want calls as alice and expects a status.
func (c *office) want(status int, method, path string, body any) answer {
	c.t.Helper()
	a := c.alice(method, path, body)
	if a.status != status {
		c.t.Fatalf("%s %s: got %d %s, want %d", method, path, a.status, a.raw, status)
	}
	return a
}

// task makes a Product with a Project and a Task in it.
func (c *office) task() (product, project, taskID string) {
	c.t.Helper()
	product = c.want(201, "POST", "/company/products", map[string]any{"name": "Widget"}).text("id")
	project = c.want(201, "POST", "/company/projects", map[string]any{"product_id": product, "name": "Launch"}).text("id")
	taskID = c.want(201, "POST", "/company/tasks", map[string]any{"product_id": product, "project_id": project, "title": "Try"}).text("id")
	return product, project, taskID
}
