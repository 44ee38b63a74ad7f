// Package storetest gives every test a database of its own on one server, which all test processes of a user share:
// the first one starts it, and a watchdog ends it when the last one has been gone for five seconds. No test needs a
// TestMain, and no test is skipped: one that cannot have a database fails and says how to get one.
//
// With COMPANY_TEST_DATABASE_URL set, the URL of a superuser, that server is used and none is started.
package storetest

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Role is the user of the databases: it owns them and is ordinary otherwise, and its transactions are REPEATABLE READ
// unless they say differently.
const Role = "company_test"

const timeout = 2 * time.Minute

// New returns the URL of a new database, which goes when the test ends. It is a copy of what migrate, as Role, made of
// an empty database. Key names what migrate makes, such as a hash of the migrations: migrate runs once for each key,
// not for each test or process, and must close its connections.
func New(t testing.TB, migrate func(ctx context.Context, url string) error, key string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	name := newName()
	database, err := process.clone(ctx, name, migrate, key)
	if err != nil {
		t.Fatalf("no database for this test: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), timeout)
		defer cancel()
		if err := process.drop(ctx, name); err != nil {
			t.Errorf("drop the database of this test: %v", err)
		}
	})
	return database
}

func newName() string { return "t_" + strings.ToLower(rand.Text()) }

func (h *host) clone(ctx context.Context, name string, migrate func(context.Context, string) error, key string) (string, error) {
	c, err := h.connect(ctx)
	if err != nil {
		return "", err
	}
	defer c.Close(ctx)
	template, err := h.template(ctx, migrate, key)
	if err != nil {
		return "", err
	}
	create := "create database " + name + " owner " + Role + " template " + template
	if h.ours() { // the faster way where no checkpoint waits for a disk
		create += " strategy file_copy"
	}
	if _, err := c.Exec(ctx, create); err != nil {
		return "", err
	}
	return h.url(name)
}

func (h *host) drop(ctx context.Context, name string) error {
	c, err := h.connect(ctx)
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	_, err = c.Exec(ctx, "drop database if exists "+name+" with (force)")
	return err
}

// url is the address of a database for Role, whose password is the administrator's.
func (h *host) url(database string) (string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	u, err := url.Parse(h.admin)
	if err != nil {
		return "", err
	}
	password, _ := u.User.Password()
	u.User = url.UserPassword(Role, password)
	u.Path = "/" + database
	return u.String(), nil
}

// ensureRole makes or mends Role. One at a time: two at once would fail on the same row.
func ensureRole(ctx context.Context, admin string) error {
	c, err := pgx.Connect(ctx, admin)
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	set := "alter role " + Role + " login nosuperuser nocreatedb nocreaterole"
	if password := c.Config().Password; password != "" {
		set += " password '" + strings.ReplaceAll(password, "'", "''") + "'"
	}
	return run(ctx, c,
		"select pg_advisory_lock(hashtext('"+Role+"'))",
		"do $$ begin create role "+Role+"; exception when duplicate_object then null; end $$",
		set,
		"alter role "+Role+" set default_transaction_isolation = 'repeatable read'",
		"select pg_advisory_unlock(hashtext('"+Role+"'))",
	)
}

func run(ctx context.Context, c *pgx.Conn, statements ...string) error {
	for _, s := range statements {
		if _, err := c.Exec(ctx, s); err != nil {
			word, _, _ := strings.Cut(s, " password ") // which must not be in a log
			return fmt.Errorf("%s: %w", word, err)
		}
	}
	return nil
}
