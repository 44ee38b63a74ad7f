// Package ecstest is a fake Amazon ECS, spoken to over HTTP, that behaves as badly as the real one may: orders that are
// carried out and not answered, throttles, placements that fail in a call that succeeds, lists that lag, tasks that are
// forgotten, and state changes that a test may lose, repeat and reorder.
//
// Nothing happens by itself: a test says when a task runs and why it stops, unless Options let it.
package ecstest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
)

// Options say how a server behaves. The zero value behaves well.
type Options struct {
	Now      func() time.Time // the server's clock; time.Now
	TokenTTL time.Duration    // how long a client token is remembered; 24 hours
	Remember time.Duration    // how long a stopped task is; one hour
	ListLag  time.Duration    // until a new task is listed and described

	Burst     int     // RunTask calls that are taken at once; 0: any number
	PerSecond float64 // and how many more each second

	RunAtOnce  bool // a task runs as soon as it was ordered
	StopAtOnce bool // StopTask stops it before it answers

	// OneFilter refuses a list with both startedBy and a desired status.
	OneFilter bool

	// Place says why an order finds no place, as the reason of failures[]; empty: it finds one.
	Place func(Order) (reason string)
}

// Fault is what goes wrong with one call.
type Fault string

// The faults. Before: an error of the server, nothing was done. After: done, and the connection is cut before the
// answer. Throttle: refused for its rate. Hang: done, and never answered.
const (
	FaultNone     Fault = ""
	FaultBefore   Fault = "before"
	FaultAfter    Fault = "after"
	FaultThrottle Fault = "throttle"
	FaultHang     Fault = "hang"
)

// Server is a fake ECS with any number of clusters.
type Server struct {
	URL     string
	options Options

	mu      sync.Mutex
	tasks   map[string]*Task
	order   []string // ARNs as ordered
	tokens  map[string]token
	faults  map[string][]Fault
	calls   map[string]int
	level   float64 // of the bucket
	filled  time.Time
	events  []Event
	onRun   func(Task)
	onEvent func(Event)
}

// New starts a server, which ends with the test.
func New(t testing.TB, o Options) *Server {
	t.Helper()
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.TokenTTL == 0 {
		o.TokenTTL = 24 * time.Hour
	}
	if o.Remember == 0 {
		o.Remember = time.Hour
	}
	s := &Server{
		options: o, tasks: map[string]*Task{}, tokens: map[string]token{}, faults: map[string][]Fault{}, calls: map[string]int{},
		level: float64(o.Burst), filled: o.Now(),
	}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.URL = server.URL
	return s
}

// Client returns a client of the server.
func (s *Server) Client() *ecs.Client {
	return ecs.New(ecs.Options{
		Region: region, BaseEndpoint: &s.URL, Credentials: credentials.NewStaticCredentialsProvider("key", "secret", ""),
	})
}

// Fail lets the next calls of an action, such as "RunTask", go wrong, one fault each.
func (s *Server) Fail(action string, faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults[action] = append(s.faults[action], faults...)
}

// Calls counts the calls of an action, failed ones included.
func (s *Server) Calls(action string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[action]
}

// OnRun calls f, on its own goroutine, for each task that begins to run.
func (s *Server) OnRun(f func(Task)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onRun = f
}

// failure is an error as the AWS JSON protocol has it.
type failure struct {
	Status      int      `json:"-"`
	Type        string   `json:"__type"`
	Message     string   `json:"message"`
	ResourceIDs []string `json:"resourceIds,omitempty"`
}

func (f *failure) Error() string { return f.Type + ": " + f.Message }

func invalid(format string, a ...any) *failure {
	return &failure{Type: "InvalidParameterException", Message: fmt.Sprintf(format, a...)}
}

// ServeHTTP answers one call.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, action, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	fault := s.begin(action)
	switch fault {
	case FaultBefore:
		answer(w, nil, &failure{Status: http.StatusInternalServerError, Type: "ServerException", Message: "Service Unavailable. Please try again later."})
		return
	case FaultThrottle:
		answer(w, nil, throttled())
		return
	case FaultNone, FaultAfter, FaultHang:
	}
	out, refused := s.do(action, body)
	switch fault {
	case FaultAfter:
		if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
			conn.Close()
		}
		return
	case FaultHang:
		<-r.Context().Done()
		return
	case FaultNone, FaultBefore, FaultThrottle:
	}
	answer(w, out, refused)
}

func throttled() *failure { return &failure{Type: "ThrottlingException", Message: "Rate exceeded"} }

func (s *Server) begin(action string) Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[action]++
	if next := s.faults[action]; len(next) > 0 {
		s.faults[action] = next[1:]
		return next[0]
	}
	return FaultNone
}

func (s *Server) do(action string, body []byte) (any, *failure) {
	switch action {
	case "RunTask":
		return call(body, s.runTask)
	case "ListTasks":
		return call(body, s.listTasks)
	case "DescribeTasks":
		return call(body, s.describeTasks)
	case "StopTask":
		return call(body, s.stopTask)
	default:
		return nil, &failure{Type: "UnknownOperationException", Message: action}
	}
}

func call[In any](body []byte, f func(In) (any, *failure)) (any, *failure) {
	var in In
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, &failure{Type: "SerializationException", Message: err.Error()}
	}
	return f(in)
}

func answer(w http.ResponseWriter, out any, refused *failure) {
	status := http.StatusOK
	if refused != nil {
		if out, status = refused, refused.Status; status == 0 {
			status = http.StatusBadRequest
		}
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(out) // the client may have gone
}
