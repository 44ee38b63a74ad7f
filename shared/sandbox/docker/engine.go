package docker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// engine speaks the Engine API over its socket.
type engine struct {
	http *http.Client
}

// apiVersion is of Docker 20.10; later engines understand it.
const apiVersion = "/v1.41"

func newEngine(socket string) *engine {
	return &engine{http: &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		},
	}}}
}

// engineError is the engine's refusal.
type engineError struct {
	status  int
	Message string `json:"message"`
}

func (e *engineError) Error() string { return fmt.Sprintf("docker: %d %s", e.status, e.Message) }

func statusOf(err error) int {
	if e, ok := errors.AsType[*engineError](err); ok {
		return e.status
	}
	return 0
}

// call makes one request; a nil out ignores the answer.
func (e *engine) call(ctx context.Context, method, path string, query url.Values, in, out any) error {
	var body io.Reader = http.NoBody
	if in != nil {
		raw, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://docker"+apiVersion+path+"?"+query.Encode(), body)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := e.http.Do(req)
	if err != nil {
		return fmt.Errorf("docker: %w", err)
	}
	defer res.Body.Close()
	if res.StatusCode >= http.StatusBadRequest {
		refused := &engineError{status: res.StatusCode}
		raw, _ := io.ReadAll(io.LimitReader(res.Body, 64<<10))
		if json.Unmarshal(raw, refused) != nil {
			refused.Message = strings.TrimSpace(string(raw))
		}
		return refused
	}
	if out == nil {
		_, _ = io.Copy(io.Discard, res.Body)
		return nil
	}
	return json.NewDecoder(io.LimitReader(res.Body, 16<<20)).Decode(out)
}
