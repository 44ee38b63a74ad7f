package story

import (
	"bytes"
	"encoding/json"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"time"
)

// Forger is a proxy between supervisors and the API that can rewrite the commit that a sandbox reports, as somebody would
// who controls what a sandbox says. A Company has no switch for that.
type Forger struct {
	URL    string
	commit atomic.Pointer[string]
	server *http.Server
}

// NewForger starts a proxy on a free loopback port; To says where to.
func NewForger() (*Forger, net.Listener, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	return &Forger{URL: "http://" + l.Addr().String()}, l, nil
}

// To forwards to an API from now on.
func (f *Forger) To(l net.Listener, api string) error {
	to, err := url.Parse(api)
	if err != nil {
		return err
	}
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.ErrorLog = log.New(io.Discard, "", 0) // a sandbox that ends breaks off what it asks
	f.server = &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if commit := f.commit.Load(); commit != nil && r.URL.Path == "/sandbox/prepared" {
			if err := rewrite(r, *commit); err != nil {
				http.Error(w, err.Error(), http.StatusBadGateway)
				return
			}
		}
		proxy.ServeHTTP(w, r)
	})}
	go func() { _ = f.server.Serve(l) }()
	return nil
}

// Forge rewrites the reported commit from now on; "" lets the truth through.
func (f *Forger) Forge(commit string) {
	if commit == "" {
		f.commit.Store(nil)
		return
	}
	f.commit.Store(&commit)
}

// Close ends the proxy.
func (f *Forger) Close() error { return f.server.Close() }

func rewrite(r *http.Request, commit string) error {
	raw, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		return err
	}
	var body map[string]any
	if err := json.Unmarshal(raw, &body); err != nil {
		return err
	}
	body["commit"] = commit
	if raw, err = json.Marshal(body); err != nil {
		return err
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(raw)), int64(len(raw))
	return nil
}
