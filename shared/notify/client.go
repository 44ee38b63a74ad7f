// Package notify delivers messages to where people look: a webhook that Slack and its likes understand, and a generic one
// whose messages are signed. Package notify/sns delivers to a topic of Amazon SNS. Each delivery is repeated while that may
// help; what is delivered twice has the same id.
package notify

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"companyos/shared/publicnet"
)

// ErrAddress is a URL that leads, or whose name leads, to where no message may go.
var ErrAddress = errors.New("the webhook's address is not allowed")

const (
	dialTimeout    = 5 * time.Second
	requestTimeout = 10 * time.Second
	idleTimeout    = 30 * time.Second
)

// Guard says where messages may go. The zero value takes public addresses by https.
type Guard struct {
	publicnet.Dialer
	TLS *http.Transport // whose certificates and settings the client has; nil: this machine's
}

// Check refuses a URL that is not https, holds credentials or names a private address itself.
func (g *Guard) Check(raw string) error {
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Scheme != "https" || u.Hostname() == "":
		return fmt.Errorf("%w: it has to be an https URL", ErrAddress)
	case u.User != nil || u.Fragment != "":
		return fmt.Errorf("%w: it holds credentials or a fragment", ErrAddress)
	}
	if a, err := netip.ParseAddr(u.Hostname()); err == nil && !g.Allows(a) {
		return fmt.Errorf("%w: %s", ErrAddress, a)
	}
	return nil
}

// Client returns a client that dials only what it has checked: a name is resolved once, every address has to be allowed,
// and the connection goes to one of those, whatever the name leads to a moment later. It follows no redirect and uses no
// proxy, whatever the environment says.
func (g *Guard) Client() *http.Client {
	t := &http.Transport{}
	if g.TLS != nil {
		t = g.TLS.Clone()
	}
	t.Proxy, t.DialContext = nil, g.dial
	t.TLSHandshakeTimeout, t.ResponseHeaderTimeout, t.IdleConnTimeout = dialTimeout, requestTimeout, idleTimeout
	t.MaxResponseHeaderBytes = 64 << 10
	return &http.Client{
		Transport: t, Timeout: requestTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func (g *Guard) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := g.DialContext(ctx, network, address)
	if errors.Is(err, publicnet.ErrPrivate) || errors.Is(err, publicnet.ErrNoAddress) {
		return nil, fmt.Errorf("%w: %s: %w", ErrAddress, address, err)
	}
	return conn, err
}
