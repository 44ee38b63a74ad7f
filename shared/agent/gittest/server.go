// Package gittest serves real git repositories over loopback HTTP and makes their commits, with faults on demand. It is
// used by tests and by the cookbook; it needs git on the PATH and nothing else.
package gittest

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// Fault is what a repository answers instead of its content.
type Fault string

// The faults of a repository. Hang answers nothing until the client leaves. Huge answers the discovery honestly and then
// sends a pack without an end. Redirect points at "/redirected/…" of this server, which no client should ever ask for.
const (
	FaultNone         Fault = ""
	FaultNotFound     Fault = "not_found"
	FaultUnauthorized Fault = "unauthorized"
	FaultForbidden    Fault = "forbidden"
	FaultUnavailable  Fault = "unavailable"
	FaultHang         Fault = "hang"
	FaultHuge         Fault = "huge"
	FaultRedirect     Fault = "redirect"
)

// Request is one request that the server saw.
type Request struct {
	Path          string // "/owner/name/info/refs"
	Service       string // git-upload-pack of a discovery
	Authorization string
}

// Server serves the repositories below one directory. Only fetching is possible.
type Server struct {
	URL string // "http://127.0.0.1:PORT"

	dir      string
	listener net.Listener
	http     *http.Server
	git      string

	mu       sync.Mutex
	faults   map[string]Fault
	tokens   map[string]string
	requests []Request
}

// Start serves the repositories in dir, which may be empty, on addr; "127.0.0.1:0" is a free loopback port.
func Start(dir, addr string) (*Server, error) {
	git, err := exec.LookPath("git")
	if err != nil {
		return nil, fmt.Errorf("git is needed on the PATH: %w", err)
	}
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	s := &Server{
		URL: "http://" + listener.Addr().String(), dir: dir, listener: listener, git: git,
		faults: map[string]Fault{}, tokens: map[string]string{},
	}
	s.http = &http.Server{Handler: s}
	go func() { _ = s.http.Serve(listener) }() // until Close
	return s, nil
}

// Close ends the server and every request that hangs in it.
func (s *Server) Close() error { return s.http.Close() }

// SetFault makes a repository, named "owner/name", answer with a fault, or heals it.
func (s *Server) SetFault(repository string, fault Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults[repository] = fault
}

// RequireToken makes a repository private: it wants HTTP Basic with this password, as a code host does with a token.
func (s *Server) RequireToken(repository, token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens[repository] = token
}

// Requests lists what was asked so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// ServeHTTP answers one request of git's smart protocol.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	repository := s.repositoryOf(r.URL.Path)
	s.mu.Lock()
	fault, token := s.faults[repository], s.tokens[repository]
	s.requests = append(s.requests, Request{
		Path: r.URL.Path, Service: r.URL.Query().Get("service"), Authorization: r.Header.Get("Authorization"),
	})
	s.mu.Unlock()

	if _, password, ok := r.BasicAuth(); token != "" && (!ok || password != token) {
		fault = FaultUnauthorized
	}
	discovery := strings.HasSuffix(r.URL.Path, "/info/refs")
	switch fault {
	case FaultNotFound:
		http.Error(w, "not found", http.StatusNotFound)
	case FaultUnauthorized:
		w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
		http.Error(w, "unauthorized", http.StatusUnauthorized)
	case FaultForbidden:
		http.Error(w, "forbidden", http.StatusForbidden)
	case FaultUnavailable:
		http.Error(w, "unavailable", http.StatusServiceUnavailable)
	case FaultRedirect:
		http.Redirect(w, r, s.URL+"/redirected"+r.URL.RequestURI(), http.StatusMovedPermanently)
	case FaultHang:
		<-r.Context().Done()
	case FaultHuge:
		if discovery || !s.isFetch(r) {
			s.backend(w, r)
			return
		}
		flood(r.Context(), w)
	case FaultNone:
		s.backend(w, r)
	}
}

// backend hands the request to git's own server program, with no configuration but ours.
func (s *Server) backend(w http.ResponseWriter, r *http.Request) {
	env := []string{"GIT_PROJECT_ROOT=" + s.dir, "GIT_HTTP_EXPORT_ALL=1"}
	if protocol := r.Header.Get("Git-Protocol"); protocol != "" {
		env = append(env, "GIT_PROTOCOL="+protocol)
	}
	handler := cgi.Handler{
		Path: s.git, Args: []string{"http-backend"}, Dir: s.dir,
		Env: append(env, cleanEnv()...), Stderr: discard{},
	}
	handler.ServeHTTP(w, r)
}

// isFetch tells a request for objects from protocol 2's listing of references, which uses the same path.
func (s *Server) isFetch(r *http.Request) bool {
	var head [64]byte
	n, _ := r.Body.Read(head[:])
	fetch := !strings.Contains(string(head[:n]), "command=ls-refs")
	r.Body = prefixed{strings.NewReader(string(head[:n])), r.Body}
	return fetch
}

// repositoryOf is "owner/name" of a request's path.
func (s *Server) repositoryOf(path string) string {
	path = strings.TrimPrefix(path, "/")
	for _, suffix := range []string{"/info/refs", "/git-upload-pack", "/git-receive-pack", "/HEAD"} {
		path = strings.TrimSuffix(path, suffix)
	}
	return path
}

// flood sends a pack of version 2 that claims sixteen million objects and goes on for ever.
func flood(ctx context.Context, w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/x-git-upload-pack-result")
	// Protocol 2: the section's name, then band 1 packets of pack data.
	fmt.Fprintf(w, "%04x%s", len("packfile\n")+4, "packfile\n")
	packet := func(data []byte) error {
		_, err := fmt.Fprintf(w, "%04x\x01%s", len(data)+5, data)
		return err
	}
	header := []byte("PACK\x00\x00\x00\x02\x00\xff\xff\xff")
	if packet(header) != nil {
		return
	}
	object := storedBlob()
	for ctx.Err() == nil {
		if packet(object) != nil {
			return
		}
	}
}

// cleanEnv is the environment of every git that this package runs: nothing of the user's configuration.
func cleanEnv() []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(os.TempDir(), "nonexistent"), "LC_ALL=C",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_TERMINAL_PROMPT=0",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*",
	}
}
