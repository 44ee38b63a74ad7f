package schema_test

import (
	"context"
	"net"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"

	"companyos/shared/store"
	"companyos/shared/store/schema"
	"companyos/shared/store/storetest"
)

// standIn stands between a client and a PostgreSQL and gives it the words of a cluster: what only a cluster understands
// is rewritten to a call that does the same, and statements may be refused as a cluster refuses them.
type standIn struct {
	t       *testing.T
	server  string // host:port of the PostgreSQL
	mu      sync.Mutex
	refuse  map[string]int // how often a statement that contains this is refused
	refused int
}

var (
	asyncIndex = regexp.MustCompile(`(?s)^CREATE (UNIQUE )?INDEX ASYNC (.*)$`)
	iamGrant   = regexp.MustCompile(`^AWS IAM GRANT "(\w+)" TO '([^']*)'$`)
)

// catalog is what the rewritten statements call.
var catalog = []string{
	`CREATE SCHEMA sys`,
	`CREATE TABLE sys.jobs (job_id text, status text, details text)`,
	`CREATE TABLE sys.iam_pg_role_mappings (arn text, pg_role_name text)`,
	`CREATE FUNCTION sys.index_async(ddl text) RETURNS text LANGUAGE plpgsql AS $$
		DECLARE job text := md5(ddl);
		BEGIN EXECUTE ddl; INSERT INTO sys.jobs VALUES (job, 'processing'); RETURN job; END $$`,
	`CREATE PROCEDURE sys.wait_for_job(job text) LANGUAGE sql AS $$ UPDATE sys.jobs SET status = 'completed' WHERE job_id = job $$`,
	`CREATE FUNCTION sys.refuse() RETURNS void LANGUAGE plpgsql AS $$
		BEGIN RAISE EXCEPTION 'change conflicts with another transaction (OC001)' USING ERRCODE = '40001'; END $$`,
	`CREATE FUNCTION sys.map(role text, iam text) RETURNS void LANGUAGE sql AS $$ INSERT INTO sys.iam_pg_role_mappings VALUES (iam, role) $$`,
}

// newStandIn returns a cluster and the URL of its database.
func newStandIn(t *testing.T) (*standIn, store.Config) {
	t.Helper()
	empty := storetest.New(t, func(context.Context, string) error { return nil }, "empty")
	conn, err := pgx.Connect(t.Context(), empty)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	for _, statement := range catalog {
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	u, err := url.Parse(empty)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	s := &standIn{t: t, server: u.Host, refuse: map[string]int{}}
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go s.serve(client)
		}
	}()
	u.Host = listener.Addr().String()
	q := u.Query()
	q.Set("sslmode", "disable")
	u.RawQuery = q.Encode()
	return s, store.Config{URL: u.String()}
}

func (s *standIn) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", s.server)
	if err != nil {
		s.t.Error(err)
		return
	}
	defer server.Close()
	front, back := pgproto3.NewBackend(client, client), pgproto3.NewFrontend(server, server)
	start, err := front.ReceiveStartupMessage()
	if err != nil {
		return
	}
	back.Send(start)
	if back.Flush() != nil {
		return
	}
	go func() {
		defer client.Close()
		for {
			m, err := back.Receive()
			if err != nil {
				return
			}
			if a, ok := m.(pgproto3.AuthenticationResponseMessage); ok {
				setAuth(front, a)
			}
			front.Send(m)
			if front.Flush() != nil {
				return
			}
		}
	}()
	for {
		m, err := front.Receive()
		if err != nil {
			return
		}
		switch m := m.(type) {
		case *pgproto3.Parse:
			m.Query = s.rewrite(m.Query)
		case *pgproto3.Query:
			m.String = s.rewrite(m.String)
		}
		back.Send(m)
		if back.Flush() != nil {
			return
		}
	}
}

// setAuth tells the reader what the client's next message answers.
func setAuth(b *pgproto3.Backend, m pgproto3.AuthenticationResponseMessage) {
	switch m.(type) {
	case *pgproto3.AuthenticationSASL:
		_ = b.SetAuthType(pgproto3.AuthTypeSASL)
	case *pgproto3.AuthenticationSASLContinue:
		_ = b.SetAuthType(pgproto3.AuthTypeSASLContinue)
	case *pgproto3.AuthenticationMD5Password:
		_ = b.SetAuthType(pgproto3.AuthTypeMD5Password)
	case *pgproto3.AuthenticationCleartextPassword:
		_ = b.SetAuthType(pgproto3.AuthTypeCleartextPassword)
	}
}

func (s *standIn) rewrite(query string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for part, times := range s.refuse {
		if times > 0 && strings.Contains(query, part) {
			s.refuse[part]--
			s.refused++
			if strings.HasPrefix(query, "INSERT INTO goose_db_version") {
				return "SELECT sys.refuse() WHERE $1::bigint IS NOT NULL OR $2::boolean"
			}
			return "SELECT sys.refuse()"
		}
	}
	if m := asyncIndex.FindStringSubmatch(query); m != nil {
		return "SELECT sys.index_async(" + schema.Quote("CREATE "+m[1]+"INDEX "+m[2]) + ")"
	}
	if m := iamGrant.FindStringSubmatch(query); m != nil {
		return "SELECT sys.map('" + m[1] + "', '" + m[2] + "')"
	}
	return query
}
