package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"
)

// What the API may answer a supervisor beside success. Each ends the launch's claim on the run, but ErrArtifactMissing.
var (
	ErrFenced          = errors.New("fenced: the run belongs to another launch or instance, or is settled")
	ErrPinMismatch     = errors.New("the checkout does not match the Task's pin")
	ErrCancelled       = errors.New("the run is being cancelled")
	ErrArtifactMissing = errors.New("the announced artifact was not uploaded")
	ErrTokenRefused    = errors.New("the token is not accepted")
)

// Retries of a call: the wait grows from retryFirst to retryMost, half of it random. A single try is given up after
// tryTimeout, so that a connection that died silently does not hold a report back.
const (
	retryFirst  = 200 * time.Millisecond
	retryMost   = 10 * time.Second
	tryTimeout  = 30 * time.Second
	answerLimit = 4 << 20
)

// SandboxClient speaks the sandbox's API for one launch. Every call is repeated on network errors, 429 and 5xx until its
// context ends; what the API refuses is returned at once as one of the errors above, or else as a *Problem.
type SandboxClient struct {
	base string
	http *http.Client

	mu      sync.Mutex
	session string
}

// NewSandboxClient makes a client for an API at base, such as "https://api.example.com". A nil http client means one of
// its own; redirects are never followed, since a token would follow them.
func NewSandboxClient(base string, hc *http.Client) *SandboxClient {
	if hc == nil {
		hc = &http.Client{}
	}
	own := *hc
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &SandboxClient{base: strings.TrimRight(base, "/"), http: &own}
}

// Claim exchanges the launch token for the work and keeps the session token for the calls that follow.
// Errors: ErrFenced, ErrTokenRefused.
func (c *SandboxClient) Claim(ctx context.Context, launchToken string, in ClaimRequest) (ClaimResponse, error) {
	var out ClaimResponse
	if err := c.call(ctx, "/sandbox/claim", launchToken, in, &out); err != nil {
		return ClaimResponse{}, err
	}
	if out.Work.Version != WorkVersion {
		return ClaimResponse{}, fmt.Errorf("claim: work has version %d, this supervisor reads version %d", out.Work.Version, WorkVersion)
	}
	c.mu.Lock()
	c.session = out.Session
	c.mu.Unlock()
	return out, nil
}

// Prepared reports the checkout. Errors: ErrPinMismatch, ErrCancelled, ErrFenced, ErrTokenRefused.
func (c *SandboxClient) Prepared(ctx context.Context, in PreparedRequest) (PreparedResponse, error) {
	if in.Warnings == nil {
		in.Warnings = []string{}
	}
	var out PreparedResponse
	err := c.call(ctx, "/sandbox/prepared", c.Session(), in, &out)
	return out, err
}

// Events sends a batch. Errors: ErrFenced, ErrTokenRefused.
func (c *SandboxClient) Events(ctx context.Context, in EventsRequest) (EventsResponse, error) {
	if in.Events == nil {
		in.Events = []Event{}
	}
	var out EventsResponse
	err := c.call(ctx, "/sandbox/events", c.Session(), in, &out)
	return out, err
}

// Artifact announces an object and returns where to upload it. Errors: ErrFenced, ErrTokenRefused.
func (c *SandboxClient) Artifact(ctx context.Context, in ArtifactRequest) (ArtifactResponse, error) {
	var out ArtifactResponse
	err := c.call(ctx, "/sandbox/artifacts", c.Session(), in, &out)
	return out, err
}

// Result reports the end. Errors: ErrArtifactMissing, ErrFenced, ErrTokenRefused.
func (c *SandboxClient) Result(ctx context.Context, in ResultRequest) (ResultResponse, error) {
	var out ResultResponse
	err := c.call(ctx, "/sandbox/result", c.Session(), in, &out)
	return out, err
}

// Upload puts size bytes of body at a URL that Artifact answered.
func (c *SandboxClient) Upload(ctx context.Context, putURL string, body io.ReaderAt, size int64) error {
	_, err := c.retry(ctx, "upload", answerLimit, readAll, func(ctx context.Context) (*http.Request, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPut, putURL, io.NewSectionReader(body, 0, size))
		if err != nil {
			return nil, err
		}
		req.ContentLength = size // S3 refuses a chunked body
		if size == 0 {
			req.Body = http.NoBody
		}
		return req, nil
	})
	return err
}

// Download reads at most limit bytes from a URL that Claim answered; a longer object is an error.
func (c *SandboxClient) Download(ctx context.Context, from string, limit int64) ([]byte, error) {
	return c.retry(ctx, "download", limit, readAll, func(ctx context.Context) (*http.Request, error) {
		return http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	})
}

// Save is Download into a file, which it empties before each try.
func (c *SandboxClient) Save(ctx context.Context, from string, limit int64, to *os.File) error {
	save := func(r io.Reader) ([]byte, int64, error) {
		if err := to.Truncate(0); err != nil {
			return nil, 0, err
		}
		n, err := io.Copy(io.NewOffsetWriter(to, 0), r)
		return nil, n, err
	}
	_, err := c.retry(ctx, "download", limit, save, func(ctx context.Context) (*http.Request, error) {
		return http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	})
	return err
}

// reader takes an answer and says how long it was.
type reader func(io.Reader) (body []byte, size int64, err error)

func readAll(r io.Reader) ([]byte, int64, error) {
	body, err := io.ReadAll(r)
	return body, int64(len(body)), err
}

// Session is the run's own token as it is now.
func (c *SandboxClient) Session() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session
}

func (c *SandboxClient) call(ctx context.Context, path, token string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	answer, err := c.retry(ctx, path, answerLimit, readAll, func(ctx context.Context) (*http.Request, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+path, bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("Content-Type", "application/json")
		return req, nil
	})
	if err != nil {
		return err
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return fmt.Errorf("%s: the answer is not this API's: %w", path, err)
	}
	return nil
}

// retry repeats a request until it is answered for good or ctx ends; then the last failure is part of the error.
func (c *SandboxClient) retry(ctx context.Context, what string, limit int64, read reader, build func(context.Context) (*http.Request, error)) ([]byte, error) {
	wait := retryFirst
	for {
		body, again, after, err := c.try(ctx, limit, read, build)
		if err == nil {
			return body, nil
		}
		if !again {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
		pause := max(wait/2+rand.N(wait/2), after) //nolint:gosec // jitter
		wait = min(wait*2, retryMost)
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil, fmt.Errorf("%s: %w, after %w", what, context.Cause(ctx), err)
		case <-timer.C:
		}
	}
}

// try makes one request: the answer, or whether and after how long to repeat it.
func (c *SandboxClient) try(ctx context.Context, limit int64, read reader, build func(context.Context) (*http.Request, error)) (body []byte, again bool, after time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	req, err := build(ctx)
	if err != nil {
		return nil, false, 0, err
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, true, 0, withoutURL(err)
	}
	defer res.Body.Close()
	if res.StatusCode >= 300 {
		read = readAll // of the refusal
	}
	body, size, err := read(io.LimitReader(res.Body, limit+1))
	if err != nil {
		return nil, true, 0, err
	}
	if size > limit {
		return nil, false, 0, fmt.Errorf("the answer is longer than %d bytes", limit)
	}
	if res.StatusCode < 300 {
		return body, false, 0, nil
	}
	problem := problemOf(res, body)
	problem.RetryAfter = min(problem.RetryAfter, time.Minute)
	again = res.StatusCode == http.StatusTooManyRequests || res.StatusCode >= 500
	return nil, again, problem.RetryAfter, refusal(problem)
}

// refusal gives a problem the sentinel that a supervisor acts on.
func refusal(p *Problem) error {
	switch {
	case p.Code == "fenced":
		return fmt.Errorf("%w: %w", ErrFenced, p)
	case p.Code == "pin_mismatch":
		return fmt.Errorf("%w: %w", ErrPinMismatch, p)
	case p.Code == "cancelled":
		return fmt.Errorf("%w: %w", ErrCancelled, p)
	case p.Code == "artifact_missing":
		return fmt.Errorf("%w: %w", ErrArtifactMissing, p)
	case p.Status == http.StatusUnauthorized || p.Status == http.StatusForbidden:
		return fmt.Errorf("%w: %w", ErrTokenRefused, p)
	default:
		return p
	}
}

// withoutURL drops the address from a transport error: a presigned URL is a key, and errors are logged.
func withoutURL(err error) error {
	if ue, ok := errors.AsType[*url.Error](err); ok {
		return ue.Err
	}
	return err
}
