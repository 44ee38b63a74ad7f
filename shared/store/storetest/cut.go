package storetest

import (
	"bytes"
	"io"
	"net"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"companyos/shared/store"
)

// CutCommits returns a store on the same database whose next COMMITs, and all after, find their connection broken: before
// they reach the server, or after the server has carried them out. The function says how many were cut; most is how many
// are cut, all when it is left out.
func CutCommits(t testing.TB, direct *store.DB, after bool, most ...int32) (*store.DB, func() int32) {
	t.Helper()
	cfg := direct.Pool().Config().ConnConfig
	proxy := &cutting{server: net.JoinHostPort(cfg.Host, strconv.Itoa(int(cfg.Port))), after: after}
	if len(most) > 0 {
		proxy.most = most[0]
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go proxy.serve(l)
	url := "postgres://" + cfg.User + ":" + cfg.Password + "@" + l.Addr().String() + "/" + cfg.Database + "?sslmode=disable"
	db, err := store.Open(t.Context(), store.Config{URL: url, MaxConns: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db, proxy.commits.Load
}

// cutting is a proxy that breaks a connection when it sees a COMMIT: before it reaches the server, or after the server
// has carried it out.
type cutting struct {
	server  string
	after   bool
	most    int32
	commits atomic.Int32
}

func (c *cutting) serve(l net.Listener) {
	for {
		client, err := l.Accept()
		if err != nil {
			return
		}
		go c.pipe(client)
	}
}

func (c *cutting) pipe(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", c.server)
	if err != nil {
		return
	}
	defer server.Close()
	go func() {
		_, _ = io.Copy(client, server)
		client.Close()
	}()
	buf := make([]byte, 64<<10)
	for {
		n, err := client.Read(buf)
		if err != nil {
			return
		}
		if bytes.Contains(buf[:n], []byte("commit")) && c.mayCut() {
			if c.after {
				client.Close() // the answer has nowhere to go
				_, _ = server.Write(buf[:n])
				time.Sleep(time.Second) // the server reads it before the connection ends
			}
			return
		}
		if _, err := server.Write(buf[:n]); err != nil {
			return
		}
	}
}

func (c *cutting) mayCut() bool {
	n := c.commits.Add(1)
	return c.most == 0 || n <= c.most
}
