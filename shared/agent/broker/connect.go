package broker

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"companyos/shared/publicnet"
)

// connect opens a tunnel to a declared host. The name is brought to one form once and compared as it is; it is resolved
// here, every address is checked, and the one that was checked is dialled. What the agent then says in its TLS greeting
// must be the same name.
func (b *Broker) connect(w http.ResponseWriter, r *http.Request) {
	target, ok := canonical(r.Host)
	switch {
	case !ok || !b.egress[target]:
		b.refuse(w, http.StatusForbidden, printable(r.Host), "refused: connection to "+printable(r.Host)+", which the executor does not list")
		return
	case !b.known(proxyToken(r.Header)):
		w.Header().Set("Proxy-Authenticate", `Basic realm="agent"`)
		b.refuse(w, http.StatusProxyAuthRequired, target, "refused: a connection without the agent's token")
		return
	}
	upstream, err := b.dial(r.Context(), target)
	if err != nil {
		b.refuse(w, http.StatusBadGateway, target, "refused: connection to "+target+": "+err.Error())
		return
	}
	defer upstream.Close()
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	stop := context.AfterFunc(r.Context(), func() { _, _ = conn.Close(), upstream.Close() })
	defer stop()
	if _, err := conn.Write([]byte("HTTP/1.1 200 Connection established\r\n\r\n")); err != nil {
		return
	}
	host, _, _ := net.SplitHostPort(target)
	greeting, err := greet(r.Context(), conn, buffered.Reader, host)
	if err != nil {
		b.tell(target, "refused: connection to "+target+": "+err.Error())
		return
	}
	splice(conn, upstream, io.MultiReader(bytes.NewReader(greeting), buffered.Reader))
}

// canonical brings "name:port" to the form of the list.
func canonical(hostport string) (string, bool) {
	host, port, err := net.SplitHostPort(hostport)
	if err != nil || host == "" || port == "" || len(host) > 254 || len(port) > 5 {
		return "", false
	}
	for _, c := range []byte(host + port) {
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !letter && c != '-' && c != '.' {
			return "", false
		}
	}
	return strings.ToLower(strings.TrimSuffix(host, ".")) + ":" + port, true
}

func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, s[:min(len(s), 200)])
}

func (b *Broker) dial(ctx context.Context, target string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	conn, err := b.Public.DialContext(ctx, "tcp", target)
	switch {
	case err == nil:
		return conn, nil
	case errors.Is(err, publicnet.ErrPrivate):
		return nil, publicnet.ErrPrivate
	case errors.Is(err, publicnet.ErrNoAddress), errors.As(err, new(*net.DNSError)):
		return nil, publicnet.ErrNoAddress
	}
	return nil, errors.New("it does not answer")
}

// greet reads the TLS greeting and compares the name in it. It returns what was read, to be passed on.
func greet(ctx context.Context, conn net.Conn, from *bufio.Reader, host string) ([]byte, error) {
	if err := conn.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		return nil, err
	}
	recorded := &recorder{from: io.LimitReader(from, 64<<10)}
	errSeen := errors.New("seen")
	name := ""
	err := tls.Server(recorded, &tls.Config{ //nolint:gosec // it reads a greeting and answers nothing
		GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			name = hello.ServerName
			return nil, errSeen
		},
	}).HandshakeContext(ctx)
	if !errors.Is(err, errSeen) {
		return nil, errors.New("it does not begin with a TLS greeting")
	}
	if strings.ToLower(strings.TrimSuffix(name, ".")) != host {
		return nil, errors.New("the TLS greeting names another host")
	}
	return recorded.seen.Bytes(), conn.SetReadDeadline(time.Time{})
}

// recorder is a connection of which only the reading half is there.
type recorder struct {
	net.Conn
	from io.Reader
	seen bytes.Buffer
}

func (r *recorder) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	r.seen.Write(p[:n])
	return n, err
}

func (r *recorder) Write(p []byte) (int, error) { return len(p), nil }

// splice copies both ways until both have ended.
func splice(agent, upstream net.Conn, first io.Reader) {
	var both sync.WaitGroup
	both.Go(func() {
		_, _ = io.Copy(upstream, first)
		halfClose(upstream)
	})
	both.Go(func() {
		_, _ = io.Copy(agent, upstream)
		halfClose(agent)
	})
	both.Wait()
}

func halfClose(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.CloseWrite()
		return
	}
	_ = c.Close()
}
