package broker_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
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
	if b.Broker, err = broker.Start(c); err != nil {
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

func TestRefused(t *testing.T) {
	t.Parallel()
	big := `{"model":"m","metadata":"` + strings.Repeat("x", 2<<20) + `","mcp_servers":[{"url":"https://evil"}]}`
	for name, tt := range map[string]struct {
		path, body, token string
		method            string
		status            int
	}{
		"another path":        {path: "/v1/files", body: "{}", status: 403},
		"a path up":           {path: "/v1/messages/../files", body: "{}", status: 403},
		"an escaped path":     {path: "/v1/messages%2f..%2ffiles", body: "{}", status: 403},
		"batches":             {path: "/v1/messages/batches", body: "{}", status: 403},
		"the other API":       {path: "/v1/responses", body: `{"model":"m"}`, status: 403},
		"another method":      {path: "/v1/messages", method: http.MethodGet, status: 403},
		"no token":            {path: "/v1/messages", body: `{"model":"m"}`, token: "guess", status: 401},
		"no JSON":             {path: "/v1/messages", body: "x", status: 400},
		"a list":              {path: "/v1/messages", body: `[]`, status: 400},
		"two documents":       {path: "/v1/messages", body: `{"model":"m"}{"model":"n"}`, status: 400},
		"no model":            {path: "/v1/messages", body: `{}`, status: 400},
		"two models":          {path: "/v1/messages", body: `{"model":"m","model":"n"}`, status: 400},
		"another model":       {path: "/v1/messages", body: `{"model":"n"}`, status: 400},
		"web search":          {path: "/v1/messages", body: `{"model":"m","tools":[{"type":"web_search_20250305","name":"web_search"}]}`, status: 400},
		"web fetch, late":     {path: "/v1/messages", body: `{"model":"m","tools":[{"name":"Bash"},{"name":"f","type":"web_fetch_20250910"}]}`, status: 400},
		"MCP servers":         {path: "/v1/messages", body: `{"mcp_servers":[{"url":"https://evil"}],"model":"m"}`, status: 400},
		"MCP servers, large":  {path: "/v1/messages", body: big, status: 400},
		"an image's address":  {path: "/v1/messages", body: `{"model":"m","messages":[{"role":"user","content":[{"type":"image","source":{"type":"url","url":"https://evil/?q=secret"}}]}]}`, status: 400},
		"a tool's image":      {path: "/v1/messages", body: `{"model":"m","messages":[{"role":"user","content":[{"type":"tool_result","content":[{"type":"document","source":{"url":"https://evil","type":"url"}}]}]}]}`, status: 400},
		"another price":       {path: "/v1/messages", body: `{"model":"m","service_tier":"priority"}`, status: 400},
		"text of a tool":      {path: "/v1/messages", body: `{"model":"m","messages":[{"content":[{"type":"tool_use","input":{"type":"url","url":"https://docs"}}]}]}`, status: 200},
		"an address as text":  {path: "/v1/messages", body: `{"model":"m","messages":[{"content":[{"type":"text","text":"https://docs","url":"x"}]}]}`, status: 200},
		"tools of the agent":  {path: "/v1/messages", body: `{"model":"m","tools":[{"name":"Bash","input_schema":{"type":"object","properties":{"url":{"type":"string"}}}}]}`, status: 200},
		"counting of tokens":  {path: "/v1/messages/count_tokens", body: `{"model":"m"}`, status: 200},
		"a large request":     {path: "/v1/messages", body: `{"model":"m","x":"` + strings.Repeat("x", 3<<20) + `"}`, status: 200},
		"too large a request": {path: "/v1/messages", body: `{"model":"m","x":"` + strings.Repeat("x", 42<<20) + `"}`, status: 413},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reached := false
			b := setup(t, broker.Config{Price: &broker.Price{}, BudgetUSD: 1}, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				reached = true
				stream(w, anthropicStart, anthropicEnd)
			})
			method := http.MethodPost
			if tt.method != "" {
				method = tt.method
			}
			req, err := http.NewRequestWithContext(t.Context(), method, b.URL()+tt.path, strings.NewReader(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			token := tt.token
			if token == "" {
				token = b.Token()
			}
			req.Header.Set("X-Api-Key", token)
			res, err := http.DefaultTransport.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			_, _ = io.Copy(io.Discard, res.Body)
			if res.StatusCode != tt.status || reached != (tt.status == 200) {
				t.Errorf("status %d, provider reached: %t; want %d", res.StatusCode, reached, tt.status)
			}
			b.mu.Lock()
			defer b.mu.Unlock()
			if told := len(b.refused); (told > 0) != (tt.status != 200) {
				t.Errorf("told: %q", b.refused)
			}
		})
	}
}

func TestOpenAIRefused(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		body   string
		status int
	}{
		"web search":     {`{"model":"m","tools":[{"type":"web_search"}]}`, 400},
		"MCP":            {`{"model":"m","tools":[{"type":"mcp","server_url":"https://evil"}]}`, 400},
		"an image":       {`{"model":"m","input":[{"type":"message","content":[{"type":"input_image","image_url":"https://evil"}]}]}`, 400},
		"an inline one":  {`{"model":"m","input":[{"type":"message","content":[{"type":"input_image","image_url":"data:image/png;base64,xx"}]}]}`, 200},
		"a file":         {`{"model":"m","input":[{"type":"message","content":[{"type":"input_file","file_url":"https://evil"}]}]}`, 400},
		"kept answers":   {`{"model":"m","previous_response_id":"resp_1"}`, 400},
		"the real thing": {`{"model":"m","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}],"tools":[{"type":"function","name":"exec_command","parameters":{}}],"store":false,"previous_response_id":null}`, 200},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, broker.Config{API: broker.OpenAI}, func(w http.ResponseWriter, _ *http.Request) { stream(w, openaiEnd) })
			if status, text, _ := b.post(t, "/v1/responses", tt.body, "Authorization", "Bearer "+b.Token()); status != tt.status {
				t.Errorf("status %d %s, want %d", status, text, tt.status)
			}
		})
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
		if b, err := broker.Start(broker.Config{API: broker.OpenAI, Upstream: upstream}); err == nil {
			_ = b.Close()
			t.Errorf("%q was taken", upstream)
		}
	}
}

// TestConnect is cases 4 and 5 of what an agent tries on its way out.
func TestConnect(t *testing.T) {
	t.Parallel()
	echo := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "reached") }))
	t.Cleanup(echo.Close)
	resolves := map[string]string{"registry.example.com": "93.184.216.34", "rebound.example.com": "169.254.169.254", "inner.example.com": "::ffff:10.0.0.1"}
	for name, tt := range map[string]struct {
		target, sni string
		ok          bool
	}{
		"listed":             {target: "registry.example.com:443", sni: "registry.example.com", ok: true},
		"upper case":         {target: "REGISTRY.example.com:443", sni: "registry.example.com", ok: true},
		"trailing dot":       {target: "registry.example.com.:443", sni: "registry.example.com", ok: true},
		"another name":       {target: "registry.example.com:443", sni: "evil.com"},
		"no name":            {target: "registry.example.com:443"},
		"suffix":             {target: "registry.example.com.evil.com:443", sni: "registry.example.com"},
		"below it":           {target: "a.registry.example.com:443", sni: "registry.example.com"},
		"NUL":                {target: "evil.com\x00.registry.example.com:443", sni: "registry.example.com"},
		"escaped NUL":        {target: "evil.com%00registry.example.com:443", sni: "registry.example.com"},
		"user":               {target: "registry.example.com@evil.com:443", sni: "registry.example.com"},
		"an address":         {target: "93.184.216.34:443", sni: "registry.example.com"},
		"a decimal address":  {target: "2852039166:443"},
		"a hex address":      {target: "0xa9fea9fe:443"},
		"IPv6":               {target: "[fd00:ec2::23]:443"},
		"metadata":           {target: "169.254.169.254:80"},
		"container metadata": {target: "169.254.170.2:80"},
		"punycode":           {target: "xn--rgistry-cya.example.com:443", sni: "registry.example.com"},
		"port 22":            {target: "registry.example.com:22"},
		"port 25":            {target: "registry.example.com:25"},
		"no port":            {target: "registry.example.com"},
		"port with zeros":    {target: "registry.example.com:00443", sni: "registry.example.com"},
		"rebound":            {target: "rebound.example.com:443", sni: "rebound.example.com"},
		"private":            {target: "inner.example.com:443", sni: "inner.example.com"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var looked []string
			b := setup(t, broker.Config{
				Egress: []string{"registry.example.com", "rebound.example.com", "inner.example.com"},
				Lookup: func(_ context.Context, host string) ([]netip.Addr, error) {
					looked = append(looked, host)
					if ip, ok := resolves[host]; ok {
						return []netip.Addr{netip.MustParseAddr(ip)}, nil
					}
					return nil, errors.New("no such host")
				},
				Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
					if address != "93.184.216.34:443" {
						t.Errorf("dialled %s", address)
					}
					return (&net.Dialer{}).DialContext(ctx, network, echo.Listener.Addr().String())
				},
			}, nil)
			text, err := through(t, b, tt.target, tt.sni)
			if (err == nil && text == "reached") != tt.ok {
				t.Errorf("%q, %v", text, err)
			}
			if tt.ok {
				return
			}
			eventually(t, func() bool { b.mu.Lock(); defer b.mu.Unlock(); return len(b.refused) == 1 })
			for _, host := range looked {
				if _, listed := resolves[host]; !listed {
					t.Errorf("%s was looked up", host)
				}
			}
		})
	}
}

// through makes a request by a tunnel.
func through(t *testing.T, b *bundle, target, sni string) (string, error) {
	t.Helper()
	conn, err := net.Dial("tcp", b.Addr().String()) //nolint:noctx // loopback
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	auth := strings.TrimPrefix(b.ProxyURL(), "http://")
	user, _, _ := strings.Cut(auth, "@")
	req := &http.Request{Header: http.Header{}}
	req.SetBasicAuth("agent", strings.TrimPrefix(user, "agent:"))
	fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %s\r\nProxy-Authorization: %s\r\n\r\n", target, target, req.Header.Get("Authorization"))
	r := bufio.NewReader(conn)
	res, err := http.ReadResponse(r, &http.Request{Method: http.MethodConnect})
	if err != nil {
		if strings.ContainsRune(target, 0) { // refused by the server's reader
			b.mu.Lock()
			b.refused = append(b.refused, "malformed")
			b.mu.Unlock()
		}
		return "", err
	}
	if res.StatusCode != http.StatusOK {
		if res.StatusCode == http.StatusBadRequest {
			b.mu.Lock()
			b.refused = append(b.refused, "malformed")
			b.mu.Unlock()
		}
		return "", errors.New(res.Status)
	}
	c := tls.Client(conn, &tls.Config{ServerName: sni, InsecureSkipVerify: true}) //nolint:gosec // the certificate is the test's
	fmt.Fprint(c, "GET / HTTP/1.0\r\n\r\n")
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return string(text), err
}
