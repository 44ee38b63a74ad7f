package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// trips answers requests without a network, so that time can be synthetic.
type trips func(*http.Request) (*http.Response, error)

func (f trips) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func answer(status int, body string, header ...string) *http.Response {
	h := http.Header{}
	for i := 0; i < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body))}
}

func TestSandboxClientRetries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var tries int
		var began time.Time
		script := []func() (*http.Response, error){
			func() (*http.Response, error) {
				return nil, &net.OpError{Op: "dial", Err: errors.New("refused")}
			},
			func() (*http.Response, error) { return answer(502, "<html>"), nil },
			func() (*http.Response, error) {
				return answer(503, `{"detail":"busy","code":"busy"}`, "Retry-After", "30"), nil
			},
			func() (*http.Response, error) { return answer(429, `{"detail":"slow","code":"slow"}`), nil },
			func() (*http.Response, error) { return answer(200, `{"cancel":true}`), nil },
		}
		c := NewSandboxClient("http://api/", &http.Client{Transport: trips(func(r *http.Request) (*http.Response, error) {
			body, err := io.ReadAll(r.Body)
			if err != nil || string(body) != `{"n":3,"events":[]}` || r.URL.String() != "http://api/sandbox/events" {
				t.Errorf("try %d sends %s to %s, %v", tries, body, r.URL, err)
			}
			tries++
			return script[tries-1]()
		})})
		began = time.Now()
		out, err := c.Events(t.Context(), EventsRequest{N: 3})
		if err != nil || !out.Cancel || tries != 5 {
			t.Errorf("got %+v, %v after %d tries", out, err, tries)
		}
		if took := time.Since(began); took < 30*time.Second || took > 40*time.Second {
			t.Errorf("it took %s: Retry-After was not kept", took)
		}
	})
}

func TestSandboxClientGivesUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		c := NewSandboxClient("http://api", &http.Client{Transport: trips(func(r *http.Request) (*http.Response, error) {
			tries++
			if tries == 1 { // a connection that died silently
				<-r.Context().Done()
				return nil, r.Context().Err()
			}
			return nil, errors.New("no route to http://signed?sig=secret")
		})})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		_, err := c.Download(ctx, "http://signed?sig=secret", 10)
		if !errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), `"http://signed`) {
			t.Errorf("got %v", err)
		}
		if tries < 55 || tries > 130 {
			t.Errorf("%d tries in ten minutes", tries)
		}
	})
}

func TestSandboxClientRefusals(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]error{
		"409 fenced": ErrFenced, "409 pin_mismatch": ErrPinMismatch, "409 cancelled": ErrCancelled, "409 artifact_missing": ErrArtifactMissing,
		"401 token_refused": ErrTokenRefused, "403 missing_scope": ErrTokenRefused,
	} {
		tries := 0
		c := NewSandboxClient("http://api", &http.Client{Transport: trips(func(*http.Request) (*http.Response, error) {
			tries++
			return answer(int(code[0]-'0')*100+int(code[1]-'0')*10+int(code[2]-'0'), `{"detail":"text","code":"`+code[4:]+`","request_id":"r"}`), nil
		})})
		_, err := c.Prepared(t.Context(), PreparedRequest{})
		p, ok := errors.AsType[*Problem](err)
		if !errors.Is(err, want) || tries != 1 || !ok || p.Detail != "text" || p.RequestID != "r" {
			t.Errorf("%s: %v after %d tries", code, err, tries)
		}
	}
	c := NewSandboxClient("http://api", &http.Client{Transport: trips(func(*http.Request) (*http.Response, error) {
		return answer(302, "", "Location", "http://evil/"), nil
	})})
	if _, err := c.Claim(t.Context(), "token", ClaimRequest{}); err == nil {
		t.Error("a redirect was followed or taken for an answer")
	}
	c = NewSandboxClient("http://api", &http.Client{Transport: trips(func(*http.Request) (*http.Response, error) {
		return answer(200, `{"session":"s","work":{"version":2}}`), nil
	})})
	if _, err := c.Claim(t.Context(), "token", ClaimRequest{}); err == nil {
		t.Error("work of another version was taken")
	}
}

func TestSandboxClientTokensAndBlobs(t *testing.T) {
	t.Parallel()
	var uploads atomic.Int64
	mux := http.NewServeMux()
	mux.HandleFunc("POST /sandbox/claim", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"session":"for-%s","work":{"version":1}}`, r.Header.Get("Authorization")[len("Bearer "):])
	})
	mux.HandleFunc("POST /sandbox/result", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"accepted":%t}`, r.Header.Get("Authorization") == "Bearer for-launch")
	})
	mux.HandleFunc("PUT /blob", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.ContentLength != 5 || string(body) != "hello" || r.Header.Get("Authorization") != "" {
			t.Errorf("upload of %q, %d bytes announced: %v", body, r.ContentLength, err)
		}
		if uploads.Add(1) == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	mux.HandleFunc("GET /blob", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") })
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	c := NewSandboxClient(server.URL, nil)
	if _, err := c.Claim(t.Context(), "launch", ClaimRequest{Instance: "i"}); err != nil {
		t.Fatal(err)
	}
	if out, err := c.Result(t.Context(), ResultRequest{}); err != nil || !out.Accepted {
		t.Errorf("the session token is not sent: %+v, %v", out, err)
	}
	if err := c.Upload(t.Context(), server.URL+"/blob", strings.NewReader("hello"), 5); err != nil || uploads.Load() != 2 {
		t.Errorf("upload: %v after %d tries", err, uploads.Load())
	}
	if got, err := c.Download(t.Context(), server.URL+"/blob", 5); err != nil || string(got) != "hello" {
		t.Errorf("download: %q, %v", got, err)
	}
	if _, err := c.Download(t.Context(), server.URL+"/blob", 4); err == nil {
		t.Error("an object over the limit was taken")
	}
}
