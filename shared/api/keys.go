package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/MicahParks/keyfunc/v3"
	"github.com/golang-jwt/jwt/v5"
	"golang.org/x/time/rate"

	"companyos/shared/task"
)

// errNoKeys says that the issuer's keys were never read, so that a token is neither good nor bad.
var errNoKeys = errors.New("the issuer's keys are not loaded")

const (
	providerTimeout = 5 * time.Second
	providerPause   = 5 * time.Second // between tries while it is away
	maxDiscovery    = 1 << 20
)

// publishedKeys are the keys that an issuer publishes by OpenID Connect discovery.
type publishedKeys struct {
	life   context.Context //nolint:containedctx // of the process: the set is refreshed beside requests
	issuer string
	http   *http.Client
	now    func() time.Time

	mu     sync.Mutex
	keys   keyfunc.Keyfunc
	failed time.Time
	err    error
}

// keyfunc finds keys, fetching the set at first use. While the issuer is away one request in a while asks it, the others
// are told at once.
func (p *publishedKeys) keyfunc(ctx context.Context) (jwt.Keyfunc, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.keys == nil {
		if p.err == nil || p.now().Sub(p.failed) >= providerPause {
			p.keys, p.err = p.load(ctx)
			p.failed = p.now()
		}
		if p.keys == nil {
			return nil, task.Unavailable("identity_provider_away", "The identity provider's keys cannot be read", p.err)
		}
	}
	return p.keys.KeyfuncCtx(ctx), nil
}

func (p *publishedKeys) client() *http.Client {
	c := http.Client{}
	if p.http != nil {
		c = *p.http
	}
	c.Timeout = providerTimeout
	return &c
}

// load discovers the key set and reads it. Later the set is read again every hour, and, at most every five minutes, for a
// key id that is not in it.
func (p *publishedKeys) load(ctx context.Context) (keyfunc.Keyfunc, error) {
	address, err := p.discover(ctx)
	if err != nil {
		return nil, err
	}
	set, err := jwkset.NewStorageFromHTTP(address, jwkset.HTTPClientStorageOptions{
		Client:          p.client(),
		Ctx:             p.life,
		HTTPTimeout:     providerTimeout,
		RefreshInterval: time.Hour,
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoKeys, err)
	}
	storage, err := jwkset.NewHTTPClient(jwkset.HTTPClientOptions{
		HTTPURLs:          map[string]jwkset.Storage{address: set},
		RateLimitWaitMax:  time.Millisecond, // an unknown key id must not hold a request
		RefreshUnknownKID: rate.NewLimiter(rate.Every(5*time.Minute), 1),
	})
	if err != nil {
		return nil, err
	}
	return keyfunc.New(keyfunc.Options{Ctx: p.life, Storage: storage, UseWhitelist: []jwkset.USE{jwkset.UseSig, ""}})
}

// discover reads the issuer's description, which must be about this very issuer.
func (p *publishedKeys) discover(ctx context.Context) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(p.issuer, "/")+"/.well-known/openid-configuration", nil)
	if err != nil {
		return "", fmt.Errorf("%w: %w", errNoKeys, err)
	}
	res, err := p.client().Do(req)
	if err != nil {
		return "", fmt.Errorf("%w: %w", errNoKeys, err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%w: the discovery document answers %s", errNoKeys, res.Status)
	}
	var about struct {
		Issuer string `json:"issuer"`
		Keys   string `json:"jwks_uri"`
	}
	if err := json.NewDecoder(io.LimitReader(res.Body, maxDiscovery)).Decode(&about); err != nil {
		return "", fmt.Errorf("%w: %w", errNoKeys, err)
	}
	if about.Issuer != p.issuer || about.Keys == "" {
		return "", fmt.Errorf("%w: the discovery document is about issuer %q, not %q", errNoKeys, about.Issuer, p.issuer)
	}
	return about.Keys, nil
}
