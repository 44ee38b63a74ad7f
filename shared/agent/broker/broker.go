// Package broker is the one place that an agent can reach: a server on loopback, in the supervisor.
//
// It holds the model's key and adds it to requests of the one model API that the agent's harness speaks; it streams
// answers through as they come, counts their tokens by what the provider says, prices them, and ends the run when the
// budget is used up, in the middle of an answer if need be. It is also the way to the hosts that the executor declares.
// Everything else is refused, and told.
//
// The agent authenticates with a token made for it, so that nobody else on the machine spends the key.
package broker

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	"companyos/shared/agent/provider"
	"companyos/shared/publicnet"
	"companyos/shared/task"
)

// API is the protocol of a model's provider.
type API string

// The APIs. None is for a harness without a model.
const (
	None      API = ""
	Anthropic API = "anthropic" // Messages
	OpenAI    API = "openai"    // Responses
)

// Price is what a model costs, in US dollars for a million tokens.
type Price = provider.Price

// Config is what a broker needs. Without an API only Egress leads anywhere.
type Config struct {
	API       API
	Upstream  string  // base URL of the provider, without the path of its API; https, or http to loopback
	Key       string  // never leaves this process but to Upstream
	Model     string  // of the executor
	Price     *Price  // of Model; nil: unknown
	BudgetUSD float64 // of the run; 0: none
	Egress    []string
	Tools     *Tools // nil: this agent has none
	Spool     string // a directory of the supervisor's, for requests that are too large for memory

	Refused func(host, text string) // something was refused; called at most once at a time
	Used    func(task.Usage)        // totals so far, after each answer
	Spent   func()                  // the budget is used up; called once
	Failed  func(Failure)           // the provider refused

	Transport http.RoundTripper // to Upstream; nil: one of its own
	Public    publicnet.Dialer  // to the declared hosts
	Now       func() time.Time
}

// Broker serves one agent.
type Broker struct {
	Config
	upstream  *url.URL
	token     string
	egress    map[string]bool // "name:port"
	listener  net.Listener
	server    *http.Server
	proxy     *httputil.ReverseProxy
	toolProxy *httputil.ReverseProxy
	cut       context.CancelFunc // ends everything in flight
	telling   sync.Mutex

	mu        sync.Mutex
	usage     task.Usage // of answers that have ended
	cost      float64    // of all answers, those in flight by estimate
	inflight  int
	answers   int
	spent     bool
	shut      bool
	toolCalls int
	unknown   bool // some cost is only estimated, or not known at all
	failure   *Failure
}

// inflightMost bounds the requests to the provider at one time; with it, what a budget can be overstepped by.
const inflightMost = 16

// Start starts a broker on a loopback port. It ends with Close, not with ctx.
func Start(ctx context.Context, c Config) (*Broker, error) {
	b := &Broker{Config: c, token: "agent-" + rand.Text(), egress: map[string]bool{}}
	if b.Now == nil {
		b.Now = time.Now
	}
	if b.Public.Dial == nil {
		b.Public.Dial = (&net.Dialer{Timeout: 15 * time.Second}).DialContext
	}
	for _, host := range c.Egress {
		if !strings.Contains(host, ":") {
			host += ":443"
		}
		b.egress[strings.ToLower(host)] = true
	}
	if c.API != None {
		if err := b.provider(); err != nil {
			return nil, err
		}
	}
	if c.Tools != nil {
		b.toolProxy = c.Tools.proxy()
	}
	var err error
	if b.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return nil, err
	}
	ctx, cut := context.WithCancel(context.WithoutCancel(ctx))
	b.cut = cut
	b.server = &http.Server{
		Handler: b, ReadHeaderTimeout: 30 * time.Second, IdleTimeout: 5 * time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog:    log.New(io.Discard, "", 0), // the agent could fill a log
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	go func() { _ = b.server.Serve(b.listener) }() // until Close
	return b, nil
}

// provider prepares the way to the model.
func (b *Broker) provider() error {
	u, err := url.Parse(b.Upstream)
	if err != nil || u.Host == "" {
		return fmt.Errorf("the model's address %q is no URL", b.Upstream)
	}
	if ip, err := netip.ParseAddr(u.Hostname()); u.Scheme != "https" && (u.Scheme != "http" || err != nil || !ip.IsLoopback()) {
		return fmt.Errorf("the model's address %q is not https", b.Upstream)
	}
	b.upstream = u
	transport := b.Transport
	if transport == nil {
		transport = &http.Transport{
			Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: inflightMost, IdleConnTimeout: 90 * time.Second,
			TLSHandshakeTimeout: 15 * time.Second, DisableCompression: true, ForceAttemptHTTP2: true, ReadBufferSize: 128 << 10,
		}
	}
	b.proxy = &httputil.ReverseProxy{
		Rewrite: b.rewrite, Transport: transport, FlushInterval: -1, ModifyResponse: b.answered, ErrorHandler: b.unreachable,
		BufferPool: &buffers{}, ErrorLog: log.New(io.Discard, "", 0), // an answer that breaks off is told as a failure
	}
	return nil
}

// Addr is where the broker listens.
func (b *Broker) Addr() netip.AddrPort {
	return netip.MustParseAddrPort(b.listener.Addr().String())
}

// URL is the base for a harness.
func (b *Broker) URL() string { return "http://" + b.listener.Addr().String() }

// Token is what the agent uses for a key.
func (b *Broker) Token() string { return b.token }

// ProxyURL is the way to the declared hosts, empty when there are none.
func (b *Broker) ProxyURL() string {
	if len(b.egress) == 0 {
		return ""
	}
	return "http://agent:" + b.token + "@" + b.listener.Addr().String()
}

// Shut cuts everything that is in flight and refuses what comes. The port stays taken, so that nobody else is reached there.
func (b *Broker) Shut() {
	b.mu.Lock()
	b.shut = true
	b.mu.Unlock()
	b.cut()
}

func (b *Broker) over() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.shut
}

// Close shuts the broker and gives up the port.
func (b *Broker) Close() error {
	b.Shut()
	return b.server.Close()
}

// Answers counts the model's answers that came to their end.
func (b *Broker) Answers() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.answers
}

// ServeHTTP takes one request of the agent.
func (b *Broker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case b.over():
		writeError(w, http.StatusForbidden, "the run is over")
	case r.Method == http.MethodConnect:
		b.connect(w, r)
	case r.URL.IsAbs():
		b.refuse(w, http.StatusForbidden, r.URL.Host, "refused: plain requests through the proxy; "+r.Method+" "+r.URL.Host)
	case b.Tools != nil && r.URL.Path == ToolsPath:
		b.callTool(w, r)
	case !b.serves(r):
		b.refuse(w, http.StatusForbidden, r.Host, "refused: "+r.Method+" "+r.URL.Path+" is not a call of the model's API")
	case !b.known(bearer(r.Header)):
		b.refuse(w, http.StatusUnauthorized, r.Host, "refused: a call of the model's API without the agent's token")
	default:
		b.model(w, r)
	}
}

// serves is the closed list of what is passed on.
func (b *Broker) serves(r *http.Request) bool {
	if r.Method != http.MethodPost || r.URL.EscapedPath() != r.URL.Path {
		return false
	}
	switch b.API {
	case Anthropic:
		return r.URL.Path == "/v1/messages" || r.URL.Path == "/v1/messages/count_tokens"
	case OpenAI:
		return r.URL.Path == "/v1/responses"
	case None:
	}
	return false
}

func bearer(h http.Header) string {
	if key := h.Get("X-Api-Key"); key != "" {
		return key
	}
	token, _ := strings.CutPrefix(h.Get("Authorization"), "Bearer ")
	return token
}

func (b *Broker) known(token string) bool {
	return subtle.ConstantTimeCompare([]byte(token), []byte(b.token)) == 1
}

// proxyToken is the password of a proxy's client.
func proxyToken(h http.Header) string {
	text, ok := strings.CutPrefix(h.Get("Proxy-Authorization"), "Basic ")
	if !ok {
		return ""
	}
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return ""
	}
	_, password, _ := strings.Cut(string(raw), ":")
	return password
}

// model passes a request on to the provider.
func (b *Broker) model(w http.ResponseWriter, r *http.Request) {
	body, size, err := b.spool(r.Body, r.ContentLength)
	if err != nil {
		b.refuse(w, http.StatusRequestEntityTooLarge, r.Host, "refused: "+err.Error())
		return
	}
	defer body.Close()
	asked, err := inspect(b.API, body)
	if err == nil && b.BudgetUSD > 0 && asked.model != b.Model {
		err = fmt.Errorf("model %q is not the executor's, %q", asked.model, b.Model)
	}
	if err != nil {
		b.refuse(w, http.StatusBadRequest, r.Host, "refused: "+err.Error())
		return
	}
	m, err := b.open(asked, size)
	if err != nil {
		writeError(w, http.StatusTooManyRequests, err.Error())
		return
	}
	defer m.close()
	r.Body, r.ContentLength = body, size
	b.proxy.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), meterKey{}, m)))
}

// rewrite makes the provider's request of the agent's.
func (b *Broker) rewrite(p *httputil.ProxyRequest) {
	p.SetURL(b.upstream)
	p.Out.Host = b.upstream.Host
	for _, name := range []string{"Authorization", "X-Api-Key", "Cookie", "Proxy-Authorization", "Forwarded", "X-Forwarded-For"} {
		p.Out.Header.Del(name)
	}
	p.Out.Header.Set("Accept-Encoding", "identity")
	if b.API == Anthropic {
		p.Out.Header.Set("X-Api-Key", b.Key)
	} else {
		p.Out.Header.Set("Authorization", "Bearer "+b.Key)
	}
}

// answered looks at the provider's answer before it is passed on.
func (b *Broker) answered(res *http.Response) error {
	m, ok := res.Request.Context().Value(meterKey{}).(*meter)
	if !ok {
		return errors.New("a request without its meter")
	}
	res.Header.Del("Set-Cookie")
	if res.StatusCode != http.StatusOK {
		b.failed(provider.Refusal(res, b.Now()))
		return nil
	}
	m.read(res)
	return nil
}

// unreachable answers for a provider that does not.
func (b *Broker) unreachable(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, errSpent) || r.Context().Err() != nil {
		writeError(w, http.StatusForbidden, "the run is over")
		return
	}
	b.failed(&Failure{Kind: task.EndModelUnavailable, Text: "The model's provider could not be reached."})
	writeError(w, http.StatusBadGateway, "the model's provider could not be reached")
}

// refuse answers the agent and tells the run.
func (b *Broker) refuse(w http.ResponseWriter, status int, host, text string) {
	b.tell(host, text)
	writeError(w, status, text)
}

func (b *Broker) tell(host, text string) {
	if b.Refused == nil {
		return
	}
	b.telling.Lock()
	defer b.telling.Unlock()
	b.Refused(host, text)
}

// writeError is an error that both kinds of clients read.
func writeError(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{
		"type": "error", "error": map[string]any{"type": "permission_error", "code": "refused", "message": text},
	})
}

// buffers are what answers are copied through.
type buffers struct{ pool sync.Pool }

func (b *buffers) Get() []byte {
	if buf, ok := b.pool.Get().(*[]byte); ok {
		return *buf
	}
	return make([]byte, 128<<10)
}

func (b *buffers) Put(buf []byte) { b.pool.Put(&buf) }
