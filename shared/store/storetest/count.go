package storetest

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"strconv"
	"sync/atomic"
	"testing"

	"companyos/shared/store"
)

// CountTrips returns a store on the same database, of one connection, and a function that says how many round trips it
// has made.
func CountTrips(t testing.TB, direct *store.DB) (*store.DB, func() int) {
	t.Helper()
	cfg := direct.Pool().Config().ConnConfig
	server := net.JoinHostPort(cfg.Host, strconv.Itoa(int(cfg.Port)))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	var trips atomic.Int32
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go countTrips(client, server, &trips)
		}
	}()
	url := "postgres://" + cfg.User + ":" + cfg.Password + "@" + l.Addr().String() + "/" + cfg.Database + "?sslmode=disable"
	db, err := store.Open(t.Context(), store.Config{URL: url, MaxConns: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db, func() int { return int(trips.Load()) }
}

// countTrips passes on what both say. The server ends each round trip with one ReadyForQuery, which it counts before the
// client gets it.
func countTrips(client net.Conn, address string, trips *atomic.Int32) {
	defer client.Close()
	server, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	defer server.Close()
	go func() {
		_, _ = io.Copy(server, client)
		server.Close()
	}()
	const readyForQuery = 'Z'
	in := bufio.NewReader(server)
	for {
		var head [5]byte // a kind, and the length with itself
		if _, err := io.ReadFull(in, head[:]); err != nil {
			return
		}
		if head[0] == readyForQuery {
			trips.Add(1)
		}
		if _, err := client.Write(head[:]); err != nil {
			return
		}
		if _, err := io.CopyN(client, in, int64(binary.BigEndian.Uint32(head[1:]))-4); err != nil {
			return
		}
	}
}
