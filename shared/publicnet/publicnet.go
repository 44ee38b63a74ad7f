// Package publicnet knows which addresses are of the public internet, and connects to no others. Whatever names a host for
// this service to reach, a website Source, a webhook, an agent's allow-list, is checked here.
package publicnet

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"time"
)

// notGlobal are the special-purpose ranges of the IANA registries that are not global, beside those that net/netip knows.
var notGlobal = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("198.51.100.0/24"),
	netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("240.0.0.0/4"), netip.MustParsePrefix("64:ff9b::/96"),
	netip.MustParsePrefix("64:ff9b:1::/48"), netip.MustParsePrefix("100::/64"), netip.MustParsePrefix("2001::/23"),
	netip.MustParsePrefix("2001:db8::/32"), netip.MustParsePrefix("2002::/16"), netip.MustParsePrefix("3fff::/20"),
	netip.MustParsePrefix("5f00::/16"), netip.MustParsePrefix("fec0::/10"),
}

// Public says that an address is one of the public internet.
func Public(a netip.Addr) bool {
	a = a.Unmap()
	if a.Zone() != "" || !a.IsGlobalUnicast() || a.IsPrivate() {
		return false
	}
	return !slices.ContainsFunc(notGlobal, func(p netip.Prefix) bool { return p.Contains(a) })
}

// ErrPrivate is a host that is, or whose name leads to, an address that is not allowed.
var ErrPrivate = errors.New("it leads to a private address")

// ErrNoAddress is a name that leads nowhere.
var ErrNoAddress = errors.New("its name has no address")

const dialTimeout = 5 * time.Second

// Dialer connects to public addresses. The zero value uses this machine's resolver and network.
type Dialer struct {
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	Allowed func(a netip.Addr) bool                                              // nil: Public
	Dial    func(ctx context.Context, network, address string) (net.Conn, error) // gets an address that has passed
}

// Allows says whether an address may be connected to.
func (d Dialer) Allows(a netip.Addr) bool {
	if d.Allowed != nil {
		return d.Allowed(a)
	}
	return Public(a)
}

// DialContext resolves a name once, wants every address that it has to be allowed, and connects to one of those that were
// checked: a name that leads to something else a moment later changes nothing.
func (d Dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	addresses, err := d.resolve(ctx, host)
	if err != nil {
		return nil, err
	}
	for _, a := range addresses {
		if !d.Allows(a) {
			return nil, ErrPrivate
		}
	}
	dial := d.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: dialTimeout}).DialContext
	}
	err = ErrNoAddress
	for _, a := range addresses {
		var conn net.Conn
		if conn, err = dial(ctx, network, net.JoinHostPort(a.Unmap().String(), port)); err == nil {
			return conn, nil
		}
	}
	return nil, err
}

func (d Dialer) resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, nil
	}
	if d.Resolve != nil {
		return d.Resolve(ctx, host)
	}
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
}
