package api_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"companyos/shared/api"
)

// impatient is a setup that gives a request a moment.
func impatient(t *testing.T) *office {
	c := setup(t)
	c.config.Patience = 1500 * time.Millisecond // enough for what is answered, on a machine that is busy
	c.handler = api.New(c.config)
	return c
}

// A client that never sends the rest of its body does not hold a request for ever.
func TestABodyThatNeverComes(t *testing.T) {
	t.Parallel()
	c := impatient(t)
	conn, err := net.Dial("tcp", c.server.Listener.Addr().String())
	require.NoError(t, err)
	defer conn.Close()
	fmt.Fprintf(conn, "POST /company/products HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: 100\r\n\r\n{", token(t, "alice", everything))
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(10*time.Second)))
	r, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err, "no answer")
	defer r.Body.Close()
	require.Equal(t, http.StatusUnprocessableEntity, r.StatusCode)
	c.want(http.StatusOK, "GET", "/company/products", nil)
}

// A database that takes a statement and does not answer is one that is away.
func TestADatabaseThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	c := impatient(t)
	id := c.want(http.StatusCreated, "POST", "/company/products", map[string]any{"name": "Widget"}).text("id")
	busy, err := c.app.DB.Pool().Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = busy.Rollback(context.WithoutCancel(t.Context())) }()
	_, err = busy.Exec(t.Context(), "LOCK TABLE products IN ACCESS EXCLUSIVE MODE")
	require.NoError(t, err)
	for _, send := range []func() answer{
		func() answer { return c.alice("GET", "/company/products", nil) },
		func() answer { return c.alice("PATCH", "/company/products/"+id, map[string]any{"name": "Other"}) },
	} {
		began := time.Now()
		a := send()
		require.Equal(t, http.StatusServiceUnavailable, a.status, "%s", a.raw)
		require.NotEmpty(t, a.header.Get("Retry-After"))
		require.Less(t, time.Since(began), 10*time.Second)
	}
	require.NoError(t, busy.Rollback(t.Context()))
	require.Equal(t, "Widget", c.want(http.StatusOK, "GET", "/company/products/"+id, nil).text("name"))
}
