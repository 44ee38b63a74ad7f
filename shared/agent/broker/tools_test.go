package broker_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"companyos/shared/agent/broker"
)

// TestTools: calls of the Company's tools go on as the run's, with a token that the agent never sees.
func TestTools(t *testing.T) {
	t.Parallel()
	const session = "the run's own token"
	type call struct{ path, authorization, key, cookie, protocol, body string }
	calls := make(chan call, 10)
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		calls <- call{r.Method + " " + r.URL.String(), r.Header.Get("Authorization"), r.Header.Get("X-Api-Key"), r.Header.Get("Cookie"), r.Header.Get("Mcp-Protocol-Version"), string(body)}
		w.Header().Set("Set-Cookie", "a=b")
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0"}`)
	}))
	t.Cleanup(api.Close)
	to, err := url.Parse(api.URL + "/company-api/mcp")
	if err != nil {
		t.Fatal(err)
	}
	b := setup(t, broker.Config{Tools: &broker.Tools{URL: to, Token: func() string { return session }}}, http.NotFound)
	ask := func(method, token, body string) (int, http.Header, string) {
		req, err := http.NewRequestWithContext(t.Context(), method, b.URL()+"/mcp?to=evil", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("Cookie", "c=d")
		req.Header.Set("Mcp-Protocol-Version", "2025-06-18")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, _ := io.ReadAll(res.Body)
		return res.StatusCode, res.Header, string(text)
	}
	status, header, text := ask(http.MethodPost, b.Token(), `{"method":"tools/list"}`)
	if status != http.StatusOK || text != `{"jsonrpc":"2.0"}` || header.Get("Set-Cookie") != "" {
		t.Errorf("%d %s %v", status, text, header)
	}
	if got, want := <-calls, (call{"POST /company-api/mcp", "Bearer " + session, "", "", "2025-06-18", `{"method":"tools/list"}`}); got != want {
		t.Errorf("the API got %+v, want %+v", got, want)
	}
	for name, c := range map[string]struct {
		method, token, body string
		status              int
	}{
		"another token":   {http.MethodPost, "guess", "{}", http.StatusUnauthorized},
		"the run's own":   {http.MethodPost, session, "{}", http.StatusUnauthorized},
		"a stream":        {http.MethodGet, b.Token(), "", http.StatusMethodNotAllowed},
		"a large request": {http.MethodPost, b.Token(), strings.Repeat("x", 2<<20), http.StatusBadGateway},
	} {
		if status, _, text := ask(c.method, c.token, c.body); status != c.status {
			t.Errorf("%s: %d %s", name, status, text)
		}
	}
	for len(calls) > 0 {
		if c := <-calls; len(c.body) > 1<<20 {
			t.Errorf("%d bytes reached the API", len(c.body))
		}
	}
	last := 0
	for range 1100 {
		if last, _, _ = ask(http.MethodPost, b.Token(), "{}"); last == http.StatusTooManyRequests {
			break
		}
		<-calls
	}
	if last != http.StatusTooManyRequests {
		t.Errorf("after a thousand calls: %d", last)
	}
	b.Shut()
	if status, _, _ := ask(http.MethodPost, b.Token(), "{}"); status != http.StatusForbidden {
		t.Errorf("after the run: %d", status)
	}
	without := setup(t, broker.Config{}, http.NotFound)
	if status, _, _ := without.post(t, "/mcp", "{}"); status != http.StatusForbidden {
		t.Errorf("an agent without tools: %d", status)
	}
}
