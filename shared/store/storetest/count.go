package storetest

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"companyos/shared/store"
)

// CountTrips returns a store on the same database, of one connection, and a function that says how many round trips it
// has made.
func CountTrips(t testing.TB, direct *store.DB) (*store.DB, func() int) {
	t.Helper()
	tapped := new(tap)
	return tapped.open(t, direct), func() int { return int(tapped.trips.Load()) }
}

// Longest returns a store on the same database, of one connection, and a function that says how long its longest transaction
// took since the function was called last.
func Longest(t testing.TB, direct *store.DB) (*store.DB, func() time.Duration) {
	t.Helper()
	tapped := new(tap)
	return tapped.open(t, direct), func() time.Duration { return time.Duration(tapped.longest.Swap(0)) }
}

// tap looks at what a client and the server say to each other.
type tap struct {
	trips   atomic.Int32
	began   atomic.Int64 // of the transaction that is open, 0 for none
	longest atomic.Int64 // nanoseconds
}

func (w *tap) open(t testing.TB, direct *store.DB) *store.DB {
	t.Helper()
	cfg := direct.Pool().Config().ConnConfig
	server := net.JoinHostPort(cfg.Host, strconv.Itoa(int(cfg.Port)))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go w.pass(client, server)
		}
	}()
	url := "postgres://" + cfg.User + ":" + cfg.Password + "@" + l.Addr().String() + "/" + cfg.Database + "?sslmode=disable"
	db, err := store.Open(t.Context(), store.Config{URL: url, MaxConns: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

// Write is called for what the client says.
func (w *tap) Write(p []byte) (int, error) {
	w.began.CompareAndSwap(0, time.Now().UnixNano())
	return len(p), nil
}

// pass passes on what both say. The server ends each round trip with one ReadyForQuery, which says whether a transaction is
// open; it counts before the client gets it.
func (w *tap) pass(client net.Conn, address string) {
	defer client.Close()
	server, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	defer server.Close()
	go func() {
		_, _ = io.Copy(server, io.TeeReader(client, w))
		server.Close()
	}()
	const readyForQuery, idle = 'Z', 'I'
	in := bufio.NewReader(server)
	for {
		var head [5]byte // a kind, and the length with itself
		if _, err := io.ReadFull(in, head[:]); err != nil {
			return
		}
		if head[0] == readyForQuery {
			w.trips.Add(1)
			if state, err := in.Peek(1); err == nil && state[0] == idle {
				if took := time.Now().UnixNano() - w.began.Swap(0); took > w.longest.Load() {
					w.longest.Store(took)
				}
			}
		}
		if _, err := client.Write(head[:]); err != nil {
			return
		}
		if _, err := io.CopyN(client, in, int64(binary.BigEndian.Uint32(head[1:]))-4); err != nil {
			return
		}
	}
}
