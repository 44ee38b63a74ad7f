package broker

import (
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
)

// The bounds of what an agent does with the Company's tools in one run.
const (
	toolCallsMost = 1000
	toolCallMost  = 1 << 20 // bytes of a request
)

// ToolsPath is where an agent finds the Company's tools, here as in the API.
const ToolsPath = "/mcp"

// Tools is the way to the Company's tools for agents (POST /mcp of its API). The token stays here, and with it what the
// tools let this run do is the API's decision.
type Tools struct {
	URL   *url.URL
	Token func() string // the run's own, as it is now
}

// proxy passes requests on.
func (t *Tools) proxy() *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) {
			p.Out.URL, p.Out.Host = t.URL, t.URL.Host
			for _, name := range []string{"X-Api-Key", "Cookie", "Forwarded", "X-Forwarded-For"} {
				p.Out.Header.Del(name)
			}
			p.Out.Header.Set("Authorization", "Bearer "+t.Token())
		},
		ModifyResponse: func(res *http.Response) error {
			res.Header.Del("Set-Cookie")
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) {
			writeError(w, http.StatusBadGateway, "the Company's API could not be reached")
		},
		FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0),
	}
}

// callTool passes a call of the Company's tools on.
func (b *Broker) callTool(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	b.toolCalls++
	over := b.toolCalls > toolCallsMost
	b.mu.Unlock()
	switch {
	case !b.known(bearer(r.Header)):
		b.refuse(w, http.StatusUnauthorized, r.Host, "refused: a call of the Company's tools without the agent's token")
	case r.Method != http.MethodPost: // a client may ask whether there is a stream, and is told that there is none
		w.Header().Set("Allow", http.MethodPost)
		w.WriteHeader(http.StatusMethodNotAllowed)
	case over:
		writeError(w, http.StatusTooManyRequests, "the run has used the Company's tools too often")
	default:
		r.Body = http.MaxBytesReader(w, r.Body, toolCallMost)
		b.toolProxy.ServeHTTP(w, r)
	}
}
