package broker_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"companyos/shared/agent/broker"
	"companyos/shared/task"
)

const key = "sk-ant-secret-of-the-operator"

// bundle is a broker before a provider that the test plays.
type bundle struct {
	*broker.Broker
	mu      sync.Mutex
	refused []string
	used    []task.Usage
	spent   chan struct{}
}

func setup(t *testing.T, c broker.Config, provider http.HandlerFunc) *bundle {
	t.Helper()
	b := &bundle{spent: make(chan struct{})}
	if provider != nil {
		server := httptest.NewServer(provider)
		t.Cleanup(server.Close)
		c.Upstream = server.URL
	}
	if c.API == "" && provider != nil {
		c.API = broker.Anthropic
	}
	c.Key, c.Spool = key, t.TempDir()
	if c.Model == "" {
		c.Model = "m"
	}
	c.Refused = func(_, text string) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.refused = append(b.refused, text)
	}
	c.Used = func(u task.Usage) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.used = append(b.used, u)
	}
	c.Spent = func() { close(b.spent) }
	var err error
	if b.Broker, err = broker.Start(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b
}

func (b *bundle) post(t *testing.T, path, body string, header ...string) (int, string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.URL()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Api-Key", b.Token())
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return res.StatusCode, string(text), err
}

func stream(w http.ResponseWriter, events ...string) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, e := range events {
		fmt.Fprintf(w, "data: %s\n\n", e)
		_ = http.NewResponseController(w).Flush()
	}
}

const (
	anthropicStart = `{"type":"message_start","message":{"usage":{"input_tokens":100,"cache_creation_input_tokens":7,"cache_read_input_tokens":50,"output_tokens":1}}}`
	anthropicText  = `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hello"}}`
	anthropicEnd   = `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":33}}`
	openaiEnd      = `{"type":"response.completed","response":{"status":"completed","usage":{"input_tokens":110,"input_tokens_details":{"cached_tokens":50},"output_tokens":44}}}`
)

func TestUsage(t *testing.T) {
	t.Parallel()
	price := &broker.Price{Input: 1, Output: 10, CacheRead: 0.1, CacheWrite: 2}
	for name, tt := range map[string]struct {
		api    broker.API
		path   string
		body   string
		events []string
		want   task.Usage
		cost   float64
	}{
		"anthropic": {
			api: broker.Anthropic, path: "/v1/messages?beta=true", body: `{"model":"m"}`, events: []string{anthropicStart, anthropicText, anthropicEnd},
			want: task.Usage{InputTokens: 100, OutputTokens: 33, CacheReadTokens: 50, CacheWriteTokens: 7}, cost: 449e-6,
		},
		"openai": {
			api: broker.OpenAI, path: "/v1/responses", body: `{"model":"m"}`, events: []string{openaiEnd},
			want: task.Usage{InputTokens: 60, OutputTokens: 44, CacheReadTokens: 50}, cost: 505e-6,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got http.Header
			b := setup(t, broker.Config{API: tt.api, Price: price}, func(w http.ResponseWriter, r *http.Request) {
				got = r.Header
				stream(w, tt.events...)
			})
			for range 2 {
				status, text, err := b.post(t, tt.path, tt.body, "Authorization", "Bearer "+b.Token())
				if err != nil || status != http.StatusOK || !strings.Contains(text, tt.events[len(tt.events)-1]) {
					t.Fatalf("%d %q %v", status, text, err)
				}
			}
			if got.Get("X-Api-Key") != key && got.Get("Authorization") != "Bearer "+key {
				t.Errorf("the provider got %v", got)
			}
			if strings.Contains(fmt.Sprint(got), b.Token()) {
				t.Error("the provider got the agent's token")
			}
			eventually(t, func() bool { return b.Usage().OutputTokens == 2*tt.want.OutputTokens })
			u := b.Usage()
			if u.InputTokens != 2*tt.want.InputTokens || u.CacheReadTokens != 2*tt.want.CacheReadTokens || u.CacheWriteTokens != 2*tt.want.CacheWriteTokens {
				t.Errorf("usage %+v", u)
			}
			if !u.CostKnown || u.CostUSD == nil || diff(*u.CostUSD, 2*tt.cost) {
				t.Errorf("cost %v, want %v", u.CostUSD, 2*tt.cost)
			}
		})
	}
}

func diff(a, b float64) bool { return a-b > 1e-12 || b-a > 1e-12 }

func eventually(t *testing.T, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if holds() {
			return
		}
	}
	t.Error("it never held")
}

// TestUnknownCost: without a price, for another model, or for an answer that broke off, a cost is unknown and not 0.
func TestUnknownCost(t *testing.T) {
	t.Parallel()
	price := &broker.Price{Input: 1, Output: 10}
	for name, tt := range map[string]struct {
		price  *broker.Price
		body   string
		events []string
	}{
		"no price":      {nil, `{"model":"m"}`, []string{anthropicStart, anthropicEnd}},
		"another model": {price, `{"model":"n"}`, []string{anthropicStart, anthropicEnd}},
		"broken off":    {price, `{"model":"m"}`, []string{anthropicStart, anthropicText}},
		"no usage":      {price, `{"model":"m"}`, []string{anthropicText}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, broker.Config{Price: tt.price}, func(w http.ResponseWriter, _ *http.Request) { stream(w, tt.events...) })
			if _, _, err := b.post(t, "/v1/messages", tt.body); err != nil {
				t.Fatal(err)
			}
			eventually(t, func() bool { b.mu.Lock(); defer b.mu.Unlock(); return len(b.used) == 1 })
			if u := b.Usage(); u.CostKnown || u.CostUSD != nil || u.OutputTokens == 0 {
				t.Errorf("usage %+v", u)
			}
		})
	}
}

// TestBudget: an answer is cut in its middle, before its provider told any usage of the output, and later ones are refused.
func TestBudget(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{})
	b := setup(t, broker.Config{Price: &broker.Price{Input: 1, Output: 1000}, BudgetUSD: 0.01}, func(w http.ResponseWriter, r *http.Request) {
		defer close(gone)
		stream(w, anthropicStart)
		for r.Context().Err() == nil {
			fmt.Fprintf(w, "data: %s\n\n", anthropicText)
			_ = http.NewResponseController(w).Flush()
		}
	})
	_, text, err := b.post(t, "/v1/messages", `{"model":"m"}`)
	if err == nil {
		t.Errorf("the answer came to its end: %d bytes", len(text))
	}
	<-b.spent
	<-gone
	if n := strings.Count(text, "hello"); n > 40 {
		t.Errorf("%d pieces came through", n)
	}
	if status, _, _ := b.post(t, "/v1/messages", `{"model":"m"}`); status != http.StatusTooManyRequests {
		t.Errorf("a request over the budget: %d", status)
	}
	if u := b.Usage(); u.InputTokens != 100 || u.OutputTokens < 8 {
		t.Errorf("usage %+v", u)
	}
}

func TestFailure(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		status int
		header [2]string
		body   string
		kind   task.EndKind
		text   string
	}{
		"refused key": {401, [2]string{}, `{"error":{"type":"authentication_error","message":"invalid x-api-key"}}`, task.EndModelUnauthorized, "401: invalid x-api-key."},
		"forbidden":   {403, [2]string{}, `{}`, task.EndModelUnauthorized, "403"},
		"rate limit":  {429, [2]string{"Retry-After", "60"}, `{"error":{"type":"rate_limit_error","message":"slow down"}}`, task.EndUsageLimit, "again at 2026-01-01T00:01:00Z"},
		"quota":       {429, [2]string{"Anthropic-Ratelimit-Unified-Reset", "1767229200"}, `{"error":{"code":"insufficient_quota"}}`, task.EndUsageLimit, "again at 2026-01-01T01:00:00Z"},
		"no credit":   {400, [2]string{}, `{"error":{"type":"invalid_request_error","message":"Your credit balance is too low"}}`, task.EndUsageLimit, "credit balance"},
		"too long":    {400, [2]string{}, `{"error":{"type":"invalid_request_error","message":"prompt is too long: 250000 tokens > 200000 maximum"}}`, task.EndContextExceeded, "too long"},
		"no model":    {404, [2]string{}, `{"error":{"type":"not_found_error","message":"model: x"}}`, task.EndModelRejected, "model: x"},
		"overloaded":  {529, [2]string{}, `{"error":{"type":"overloaded_error","message":"Overloaded"}}`, task.EndModelUnavailable, "529: Overloaded."},
		"a gateway":   {502, [2]string{}, `<html>bad gateway</html>`, task.EndModelUnavailable, "502"},
		"in a stream": {200, [2]string{}, `data: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}` + "\n\n", task.EndModelUnavailable, "broke off: Overloaded."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ok := false
			b := setup(t, broker.Config{Now: func() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }}, func(w http.ResponseWriter, _ *http.Request) {
				if ok {
					stream(w, anthropicStart, anthropicEnd)
					return
				}
				w.Header().Set("Content-Type", "text/event-stream")
				if tt.header[0] != "" {
					w.Header().Set(tt.header[0], tt.header[1])
				}
				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, tt.body)
			})
			status, text, _ := b.post(t, "/v1/messages", `{"model":"m"}`)
			if status != tt.status || text != tt.body {
				t.Errorf("the agent got %d %q", status, text)
			}
			if f := b.Failure(); f == nil || f.Kind != tt.kind || !strings.Contains(f.Text, tt.text) {
				t.Errorf("failure %+v", f)
			}
			ok = true
			if _, _, err := b.post(t, "/v1/messages", `{"model":"m"}`); err != nil {
				t.Fatal(err)
			}
			eventually(t, func() bool { return b.Failure() == nil && b.Answers() == 1 })
		})
	}
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	b := setup(t, broker.Config{API: broker.Anthropic, Upstream: "http://127.0.0.1:1"}, nil)
	if status, _, _ := b.post(t, "/v1/messages", `{"model":"m"}`); status != http.StatusBadGateway {
		t.Errorf("status %d", status)
	}
	if f := b.Failure(); f == nil || f.Kind != task.EndModelUnavailable {
		t.Errorf("failure %+v", f)
	}
	if u := b.Usage(); u.InputTokens != 0 {
		t.Errorf("usage %+v", u)
	}
}

// TestStreamsThrough: the first piece arrives before the provider has written the second.
func TestStreamsThrough(t *testing.T) {
	t.Parallel()
	more := make(chan struct{})
	b := setup(t, broker.Config{}, func(w http.ResponseWriter, _ *http.Request) {
		stream(w, anthropicStart)
		<-more
		stream(w, anthropicEnd)
	})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.URL()+"/v1/messages", strings.NewReader(`{"model":"m"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Api-Key", b.Token())
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	line, err := bufio.NewReader(res.Body).ReadString('\n')
	close(more)
	if err != nil || !strings.Contains(line, "message_start") {
		t.Errorf("%q %v", line, err)
	}
}

// TestClose: the model's answer is cut, and nothing is taken after it.
func TestClose(t *testing.T) {
	t.Parallel()
	began, gone := make(chan struct{}), make(chan struct{})
	b := setup(t, broker.Config{}, func(w http.ResponseWriter, r *http.Request) {
		stream(w, anthropicStart)
		close(began)
		<-r.Context().Done()
		close(gone)
	})
	go func() {
		<-began
		b.Shut()
	}()
	if status, text, err := b.post(t, "/v1/messages", `{"model":"m"}`); err == nil && status == http.StatusOK {
		t.Errorf("the answer came to its end: %q", text)
	}
	<-gone
	if status, _, _ := b.post(t, "/v1/messages", `{"model":"m"}`); status != http.StatusForbidden {
		t.Errorf("a request after the end: %d", status)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if _, err := http.Get(b.URL()); err == nil { //nolint:noctx,bodyclose // it fails
		t.Error("it still answers")
	}
}

func TestUpstream(t *testing.T) {
	t.Parallel()
	for _, upstream := range []string{"", "http://example.com", "ftp://127.0.0.1", "http://localhost", "https://", "::"} {
		if b, err := broker.Start(t.Context(), broker.Config{API: broker.OpenAI, Upstream: upstream}); err == nil {
			_ = b.Close()
			t.Errorf("%q was taken", upstream)
		}
	}
}
