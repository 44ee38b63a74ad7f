package broker_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"companyos/shared/agent/broker"
)

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
