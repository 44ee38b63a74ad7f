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
	"testing"
	"time"

	"companyos/shared/agent/broker"
	"companyos/shared/publicnet"
)

// TestConnect is what an agent tries on its way out.
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
				Public: publicnet.Dialer{
					Resolve: func(_ context.Context, host string) ([]netip.Addr, error) {
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
