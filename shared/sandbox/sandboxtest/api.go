// Package sandboxtest holds a fake of the sandbox's API and the suite that every launcher passes against it. What is real
// is the supervisor, its client, git and the repository.
package sandboxtest

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"companyos/shared/wire"
)

// API is a server of /sandbox/* for any number of launches.
type API struct {
	URL   string
	Tools http.Handler // POST /mcp; nil: none

	mu       sync.Mutex
	launches map[string]*Launch // by launch token
	sessions map[string]*Launch // by session token
	blobs    map[string][]byte
	down     bool
	calls    map[string]int // by path
	dropped  map[string]int // answers still to be lost, by path
}

// NewAPI starts a server on addr, such as "127.0.0.1:0", for the test's duration.
func NewAPI(t testing.TB, addr string) *API {
	t.Helper()
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatalf("listening for the fake API: %v", err)
	}
	a := &API{
		URL: "http://" + listener.Addr().String(), launches: map[string]*Launch{}, sessions: map[string]*Launch{},
		blobs: map[string][]byte{}, calls: map[string]int{}, dropped: map[string]int{},
	}
	server := &http.Server{Handler: a}
	go func() { _ = server.Serve(listener) }() // until Close
	t.Cleanup(func() { _ = server.Close() })
	return a
}

// Launch is one launch as the API sees it.
type Launch struct {
	Work    wire.Work
	Token   string
	Secrets map[string]string
	Pin     string // when set, any other commit is a wrong pin

	api       *API
	session   string
	instances []string // every one that asked, in order
	claimed   string
	prepared  []wire.PreparedRequest
	events    []wire.Event
	batches   int
	calls     int // of events
	cancel    bool
	announced map[string]wire.ArtifactRequest
	uploaded  map[wire.ArtifactKind]string // key of the newest
	lose      map[wire.ArtifactKind]int
	refuse    map[wire.ArtifactKind]bool
	results   []string
	settled   bool
	done      chan struct{}
}

// Add makes a launch of this work. Ids, deadline and limits that are zero get working values; input is the attempt's
// frozen input.
func (a *API) Add(work wire.Work, input any) *Launch {
	text, err := json.Marshal(input)
	if err != nil {
		panic(err)
	}
	work.Version = wire.WorkVersion
	fallback(&work.RunID, uuid.NewString())
	fallback(&work.Launch, 1)
	fallback(&work.TaskID, uuid.NewString())
	fallback(&work.SessionID, uuid.NewString())
	fallback(&work.Attempt, 1)
	fallback(&work.Harness, "fixture")
	fallback(&work.Deadline, time.Now().Add(2*time.Minute).Unix())
	fallback(&work.Limits.CancelGrace, 6)
	l := &Launch{
		Work: work, api: a, Token: fmt.Sprintf("cl1.%s.%d.%s", work.RunID, work.Launch, random()), Secrets: map[string]string{},
		announced: map[string]wire.ArtifactRequest{}, uploaded: map[wire.ArtifactKind]string{}, lose: map[wire.ArtifactKind]int{},
		refuse: map[wire.ArtifactKind]bool{}, done: make(chan struct{}),
	}
	l.Work.InputURL = a.Put("inputs/"+work.RunID, text)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.launches[l.Token] = l
	return l
}

func fallback[T comparable](value *T, to T) {
	var zero T
	if *value == zero {
		*value = to
	}
}

func random() string {
	var b [32]byte
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// Put stores an object and returns its URL.
func (a *API) Put(key string, content []byte) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.blobs[key] = content
	return a.URL + "/sandbox/blobs/" + key
}

// Down makes the API unreachable, or reachable again.
func (a *API) Down(down bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.down = down
}

// DropAnswers lets the next n calls of a path act and loses their answers.
func (a *API) DropAnswers(path string, n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.dropped[path] = n
}

// Calls counts the calls of a path that arrived while the API was reachable.
func (a *API) Calls(path string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.calls[path]
}

// ServeHTTP answers one call.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/mcp" && a.Tools != nil {
		a.Tools.ServeHTTP(w, r)
		return
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, 64<<20))
	a.mu.Lock()
	defer a.mu.Unlock()
	if err != nil || a.down {
		hangUp(w)
		return
	}
	if key, ok := strings.CutPrefix(r.URL.Path, "/sandbox/blobs/"); ok {
		a.blob(w, r, key, body)
		return
	}
	a.calls[r.URL.Path]++
	answer, problem := a.answer(r, body)
	if a.dropped[r.URL.Path] > 0 {
		a.dropped[r.URL.Path]--
		hangUp(w)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if problem != nil {
		w.WriteHeader(problem.status)
		answer = map[string]any{"detail": problem.code, "code": problem.code, "remedy": "", "retryable": false}
	}
	_ = json.NewEncoder(w).Encode(answer)
}

// hangUp closes the connection without an answer.
func hangUp(w http.ResponseWriter) {
	if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
		_ = conn.Close()
	}
}

func (a *API) blob(w http.ResponseWriter, r *http.Request, key string, body []byte) {
	switch r.Method {
	case http.MethodGet:
		content, ok := a.blobs[key]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		_, _ = w.Write(content)
	case http.MethodPut:
		a.blobs[key] = body
		for _, l := range a.launches {
			request, ok := l.announced[key]
			switch {
			case ok && l.refuse[request.Kind]:
				delete(a.blobs, key)
				w.WriteHeader(http.StatusForbidden)
			case ok && l.lose[request.Kind] > 0:
				l.lose[request.Kind]--
				delete(a.blobs, key)
			}
		}
	default:
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
}

type problem struct {
	status int
	code   string
}

var (
	errToken    = &problem{http.StatusUnauthorized, "token_refused"}
	errFenced   = &problem{http.StatusConflict, "fenced"}
	errPin      = &problem{http.StatusConflict, "pin_mismatch"}
	errCancel   = &problem{http.StatusConflict, "cancelled"}
	errMissing  = &problem{http.StatusConflict, "artifact_missing"}
	errInvalid  = &problem{http.StatusUnprocessableEntity, "invalid"}
	errNotFound = &problem{http.StatusNotFound, "not_found"}
)

func (a *API) answer(r *http.Request, body []byte) (any, *problem) {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if r.URL.Path == "/sandbox/claim" {
		return a.claim(token, body)
	}
	l, ok := a.sessions[token]
	if !ok {
		return nil, errToken
	}
	switch r.URL.Path {
	case "/sandbox/prepared":
		return l.takePrepared(body)
	case "/sandbox/events":
		return l.takeEvents(body)
	case "/sandbox/artifacts":
		return l.takeArtifact(body)
	case "/sandbox/result":
		return l.takeResult(body)
	}
	return nil, errNotFound
}

func (a *API) claim(token string, body []byte) (any, *problem) {
	var in wire.ClaimRequest
	l, ok := a.launches[token]
	if !ok {
		return nil, errToken
	}
	if json.Unmarshal(body, &in) != nil || in.Instance == "" {
		return nil, errInvalid
	}
	l.instances = append(l.instances, in.Instance)
	if l.settled || (l.claimed != "" && l.claimed != in.Instance) {
		return nil, errFenced
	}
	l.claimed = in.Instance
	delete(a.sessions, l.session)
	l.session = "cs1." + random()
	a.sessions[l.session] = l
	return wire.ClaimResponse{Session: l.session, ExpiresAt: l.Work.Deadline, Secrets: l.Secrets, Work: l.Work}, nil
}

func (l *Launch) takePrepared(body []byte) (any, *problem) {
	var in wire.PreparedRequest
	if json.Unmarshal(body, &in) != nil {
		return nil, errInvalid
	}
	l.prepared = append(l.prepared, in)
	switch {
	case l.settled:
		return nil, errFenced
	case l.cancel:
		return nil, errCancel
	case l.Pin != "" && in.Commit != l.Pin:
		l.settle()
		return nil, errPin
	}
	return wire.PreparedResponse{Go: true}, nil
}

func (l *Launch) takeEvents(body []byte) (any, *problem) {
	var in wire.EventsRequest
	if json.Unmarshal(body, &in) != nil || in.N < 1 || len(body) > 256<<10 {
		return nil, errInvalid
	}
	l.calls++
	if l.settled {
		return nil, errFenced
	}
	if in.N == l.batches+1 {
		l.batches++
		l.events = append(l.events, in.Events...)
	}
	return wire.EventsResponse{Cancel: l.cancel}, nil
}

func (l *Launch) takeArtifact(body []byte) (any, *problem) {
	var in wire.ArtifactRequest
	if json.Unmarshal(body, &in) != nil || len(in.SHA256) != 64 || in.Size < 0 {
		return nil, errInvalid
	}
	if l.settled {
		return nil, errFenced
	}
	key := l.key(in.Kind, in.SHA256)
	l.announced[key] = in
	l.uploaded[in.Kind] = key
	return wire.ArtifactResponse{PutURL: l.api.URL + "/sandbox/blobs/" + key}, nil
}

func (l *Launch) takeResult(body []byte) (any, *problem) {
	var in wire.ResultRequest
	if json.Unmarshal(body, &in) != nil {
		return nil, errInvalid
	}
	if l.settled && (len(l.results) == 0 || l.results[0] != in.SHA256) {
		return nil, errFenced
	}
	var result wire.ResultFile
	if !l.stored(wire.ArtifactResult, in.SHA256) || json.Unmarshal(l.api.blobs[l.key(wire.ArtifactResult, in.SHA256)], &result) != nil {
		return nil, errMissing
	}
	for kind, named := range map[wire.ArtifactKind]*wire.ResultArtifact{wire.ArtifactPatch: result.Patch, wire.ArtifactTranscript: result.Transcript} {
		if named != nil && !l.stored(kind, named.SHA256) {
			return nil, errMissing
		}
	}
	l.results = append(l.results, in.SHA256)
	l.settle()
	return wire.ResultResponse{Accepted: true}, nil
}

func (l *Launch) key(kind wire.ArtifactKind, sha string) string {
	return fmt.Sprintf("runs/%s/%d/%s-%s", l.Work.RunID, l.Work.Launch, kind, sha)
}

// stored says that an artifact is there, and is what was announced.
func (l *Launch) stored(kind wire.ArtifactKind, sha string) bool {
	content, ok := l.api.blobs[l.key(kind, sha)]
	sum := sha256.Sum256(content)
	return ok && hex.EncodeToString(sum[:]) == sha
}

func (l *Launch) settle() {
	if !l.settled {
		l.settled = true
		close(l.done)
	}
}
