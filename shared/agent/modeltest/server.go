// Package modeltest is a model on loopback that follows a script, for tests and examples of agents. It speaks Anthropic's
// Messages and OpenAI's Responses, as far as the agents' command lines use them.
//
// It keeps no state about a conversation: which step comes next is the number of answers that the request already holds. So
// a conversation that is continued goes on in the script, and one that was lost begins it again.
package modeltest

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Step is one answer of the model. Exactly one of Run, Call, Say and Fault is set.
type Step struct {
	Run   string // a shell command that the agent is to run
	Call  *Call  // of a tool that the agent offers; Anthropic's API alone
	Say   string // the last words of a turn; {tool} stands for what the last command printed
	Fault *Fault

	Stop          string        // why the answer ends, where not for its kind; Anthropic's API alone
	Input, Output int           // tokens; 100 and 40
	Pause         time.Duration // before the end of the answer
}

// Call is a call of a tool.
type Call struct {
	Tool  string
	Input map[string]any
}

// Fault is an answer that is none.
type Fault struct {
	Status  int               // of a refusal; 0: the answer begins well
	Header  map[string]string // of a refusal
	Body    string            // of a refusal
	Garbage bool              // no stream but text
	Cut     bool              // the connection breaks in the middle
	Hang    bool              // nothing comes, for as long as the agent waits
	Endless bool              // text without an end
}

// Request is one request that arrived.
type Request struct {
	Path    string
	Key     string // what it authenticated with
	Body    string
	Answer  int    // the index of the step that it got
	Session string // as the agent names it in a header
}

// Server is a running model.
type Server struct {
	URL     string // base, without /v1
	scripts map[string][]Step

	mu       sync.Mutex
	requests []Request
	server   *http.Server
}

// Start starts a model that follows a script. After its end the last step repeats.
func Start(addr string, steps ...Step) (*Server, error) {
	return StartModels(addr, map[string][]Step{"": steps})
}

// StartModels starts several models, each with its script by its name. A model without one follows that of the empty name.
func StartModels(addr string, scripts map[string][]Step) (*Server, error) {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	s := &Server{URL: "http://" + listener.Addr().String(), scripts: scripts}
	s.server = &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = s.server.Serve(listener) }() // until Close
	return s, nil
}

// Close ends it, and what hangs.
func (s *Server) Close() error { return s.server.Close() }

// Requests lists what arrived.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// answer is one answer on its way to one client.
type answer struct {
	w     http.ResponseWriter
	r     *http.Request
	step  Step
	model string
	id    int
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 64<<20))
	if err != nil || r.Method != http.MethodPost {
		http.Error(w, "POST JSON", http.StatusBadRequest)
		return
	}
	key := r.Header.Get("X-Api-Key")
	if key == "" {
		key = strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	}
	request := Request{Path: r.URL.Path, Key: key, Body: string(body), Session: r.Header.Get("Session-Id")}
	if id := r.Header.Get("X-Claude-Code-Session-Id"); id != "" {
		request.Session = id
	}
	a := &answer{w: w, r: r}
	var serve func(last string)
	var last string
	switch r.URL.Path {
	case "/v1/messages/count_tokens":
		writeJSON(w, http.StatusOK, map[string]any{"input_tokens": len(body) / 4})
		return
	case "/v1/messages":
		a.model, request.Answer, last = readMessages(body)
		serve = a.messages
		if !streams(body) {
			serve = a.message
		}
	case "/v1/responses":
		a.model, request.Answer, last = readResponses(body)
		serve = a.responses
	default:
		http.NotFound(w, r)
		return
	}
	s.mu.Lock()
	s.requests = append(s.requests, request)
	a.id = len(s.requests)
	s.mu.Unlock()
	steps, ok := s.scripts[a.model]
	if !ok {
		steps = s.scripts[""]
	}
	if len(steps) == 0 {
		writeJSON(w, http.StatusNotFound, fields{"type": "error", "error": fields{"type": "not_found_error", "message": "model: " + a.model}})
		return
	}
	if a.step = steps[min(request.Answer, len(steps)-1)]; a.refuses() {
		return
	}
	a.step.Say = strings.ReplaceAll(a.step.Say, "{tool}", strings.TrimSpace(last))
	serve(last)
}

// streams says whether a request wants a stream.
func streams(body []byte) bool {
	var in struct {
		Stream bool `json:"stream"`
	}
	return json.Unmarshal(body, &in) == nil && in.Stream
}

// refuses plays the faults that come before an answer.
func (a *answer) refuses() bool {
	f := a.step.Fault
	switch {
	case f == nil:
		return false
	case f.Hang:
		<-a.r.Context().Done()
		return true
	case f.Status != 0:
		for name, value := range f.Header {
			a.w.Header().Set(name, value)
		}
		a.w.Header().Set("Content-Type", "application/json")
		a.w.WriteHeader(f.Status)
		_, _ = io.WriteString(a.w, f.Body)
		return true
	}
	return false
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

// begin begins a stream.
func (a *answer) begin() {
	a.w.Header().Set("Content-Type", "text/event-stream")
	a.w.Header().Set("Request-Id", fmt.Sprintf("req_%d", a.id))
	a.w.WriteHeader(http.StatusOK)
}

type fields map[string]any

// event writes one event of a stream.
func (a *answer) event(kind string, f fields) {
	f["type"] = kind
	text, err := json.Marshal(f)
	if err != nil {
		panic(err) // texts and numbers
	}
	fmt.Fprintf(a.w, "event: %s\ndata: %s\n\n", kind, text)
	_ = http.NewResponseController(a.w).Flush()
}

// midway plays the faults in the middle of a stream, after a first piece of text; say writes one.
func (a *answer) midway(say func(text string)) (over bool) {
	f := a.step.Fault
	switch {
	case f == nil:
		return false
	case f.Garbage:
		_, _ = io.WriteString(a.w, "<html>bad gateway</html>\n\n")
	case f.Endless:
		for a.r.Context().Err() == nil {
			say("and so on and so forth, ")
		}
	case f.Cut:
		say("half an ans")
	}
	if conn, _, err := http.NewResponseController(a.w).Hijack(); err == nil {
		_ = conn.Close()
	}
	return true
}

// wait keeps an answer open for a while.
func (a *answer) wait() {
	select {
	case <-a.r.Context().Done():
	case <-time.After(a.step.Pause):
	}
}

func tokens(n, fallback int) int {
	if n == 0 {
		return fallback
	}
	return n
}
