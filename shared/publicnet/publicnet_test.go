package publicnet

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"testing"
)

func TestPublic(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"93.184.216.34": true, "1.1.1.1": true, "2606:2800:220:1::1": true, "::ffff:93.184.216.34": true, "192.0.1.1": true, "100.128.0.1": true,
		"127.0.0.1": false, "10.0.0.7": false, "172.16.0.1": false, "192.168.1.1": false, "169.254.169.254": false, "169.254.170.2": false,
		"0.0.0.0": false, "0.1.2.3": false, "100.64.0.1": false, "192.0.0.8": false, "192.0.2.1": false, "198.18.0.1": false, "198.51.100.1": false,
		"203.0.113.1": false, "224.0.0.1": false, "240.0.0.1": false, "255.255.255.255": false, "::": false, "::1": false, "::ffff:127.0.0.1": false,
		"64:ff9b::7f00:1": false, "64:ff9b:1::1": false, "100::1": false, "2001::1": false, "2001:db8::1": false, "2002:7f00:1::": false,
		"3fff::1": false, "5f00::1": false, "fc00::1": false, "fd00:ec2::254": false, "fe80::1": false, "fe80::1%eth0": false, "fec0::1": false, "ff02::1": false,
	} {
		if got := Public(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s: %v", address, got)
		}
	}
	if Public(netip.Addr{}) {
		t.Error("no address is public")
	}
}

func TestDialer(t *testing.T) {
	t.Parallel()
	names := map[string][]string{
		"public.example": {"93.184.216.34"}, "second.example": {"93.184.216.1", "93.184.216.34"}, "inside.example": {"10.0.0.7"},
		"both.example": {"93.184.216.34", "127.0.0.1"}, "mapped.example": {"::ffff:169.254.169.254"}, "nowhere.example": {},
	}
	missing := errors.New("no such host")
	for address, want := range map[string]error{
		"public.example:443": nil, "second.example:443": nil, "93.184.216.34:443": nil, "[::ffff:93.184.216.34]:443": nil,
		"inside.example:443": ErrPrivate, "both.example:443": ErrPrivate, "mapped.example:80": ErrPrivate, "nowhere.example:443": ErrNoAddress,
		"unknown.example:443": missing, "127.0.0.1:80": ErrPrivate, "[::1]:80": ErrPrivate, "[fe80::1%lo]:80": ErrPrivate,
	} {
		asked := 0
		d := Dialer{
			Resolve: func(_ context.Context, host string) (out []netip.Addr, err error) {
				asked++
				all, ok := names[host]
				if !ok {
					return nil, missing
				}
				for _, a := range all {
					out = append(out, netip.MustParseAddr(a))
				}
				return out, nil
			},
			Dial: func(_ context.Context, _, address string) (net.Conn, error) {
				if address != "93.184.216.34:443" {
					return nil, errors.New("it does not answer")
				}
				conn, _ := net.Pipe()
				return conn, nil
			},
		}
		conn, err := d.DialContext(t.Context(), "tcp", address)
		if !errors.Is(err, want) || (conn == nil) != (want != nil) || asked > 1 {
			t.Errorf("%s: %v, asked %d times", address, err, asked)
		}
	}
}

// The zero value reaches nothing of this machine.
func TestZeroDialer(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	for _, host := range []string{"127.0.0.1", "localhost"} {
		_, port, _ := net.SplitHostPort(listener.Addr().String())
		if _, err := (Dialer{}).DialContext(t.Context(), "tcp", net.JoinHostPort(host, port)); !errors.Is(err, ErrPrivate) {
			t.Errorf("%s: %v", host, err)
		}
	}
}
