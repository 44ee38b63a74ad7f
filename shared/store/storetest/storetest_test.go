package storetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// migrateOne makes a table with one row.
func migrateOne(ctx context.Context, url string) error {
	return onURL(ctx, url, "create table one (n int primary key)", "insert into one values (1)")
}

func onURL(ctx context.Context, url string, statements ...string) error {
	c, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	return run(ctx, c, statements...)
}

func value(t *testing.T, url, sql string) (v string) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer c.Close(t.Context())
	require.NoError(t, c.QueryRow(t.Context(), sql).Scan(&v))
	return v
}

// freshKey is a key that no earlier run has made a template of.
func freshKey(t *testing.T) string { return t.Name() + fmt.Sprint(os.Getpid()) }

func TestNewIsOneTestsOwn(t *testing.T) {
	t.Parallel()
	var migrations atomic.Int32
	key := freshKey(t)
	migrate := func(ctx context.Context, url string) error {
		migrations.Add(1)
		return migrateOne(ctx, url)
	}
	t.Run("tests", func(t *testing.T) {
		for i := range 8 {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				url := New(t, migrate, key)
				require.NoError(t, onURL(t.Context(), url, fmt.Sprintf("insert into one values (%d)", 100+i)))
				require.Equal(t, fmt.Sprint(101+i), value(t, url, "select sum(n)::text from one"))
			})
		}
	})
	require.EqualValues(t, 1, migrations.Load())
}

func TestNewIsGoneAfterTheTest(t *testing.T) {
	t.Parallel()
	var url string
	t.Run("test", func(t *testing.T) {
		url = New(t, migrateOne, "one")
		open, err := pgx.Connect(context.WithoutCancel(t.Context()), url) // and never closed
		require.NoError(t, err)
		require.NoError(t, open.Ping(t.Context()))
	})
	_, err := pgx.Connect(t.Context(), url)
	require.ErrorContains(t, err, "does not exist")
}

func TestRole(t *testing.T) {
	t.Parallel()
	url := New(t, migrateOne, "one")
	require.Equal(t, Role, value(t, url, "select current_user"))
	require.Equal(t, "repeatable read", value(t, url, "show transaction_isolation"))
	require.Equal(t, "false", value(t, url, "select rolsuper::text from pg_roles where rolname = current_user"))
	require.ErrorContains(t, onURL(t.Context(), url, "create database other"), "permission denied")
}

func TestMigrationThatFails(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	_, err := process.clone(t.Context(), newName(), func(context.Context, string) error { return broken }, freshKey(t))
	require.ErrorIs(t, err, broken)
	require.ErrorContains(t, err, "make the template of")
}

func TestTemplateIsNotMadeOfHalfMigrations(t *testing.T) {
	t.Parallel()
	key := freshKey(t)
	half := func(ctx context.Context, url string) error {
		return errors.Join(onURL(ctx, url, "create table half ()"), errors.New("then it broke"))
	}
	// Two processes, as far as templates go.
	first, second := host{given: process.given}, host{given: process.given}
	_, err := first.clone(t.Context(), newName(), half, key)
	require.ErrorContains(t, err, "then it broke")
	name := newName()
	url, err := second.clone(t.Context(), name, migrateOne, key)
	require.NoError(t, err)
	defer func() { require.NoError(t, second.drop(context.WithoutCancel(t.Context()), name)) }()
	require.Equal(t, "0", value(t, url, "select count(*)::text from pg_class where relname = 'half'"))
}

func TestGivenServer(t *testing.T) {
	t.Parallel()
	c, err := process.connect(t.Context())
	require.NoError(t, err)
	defer c.Close(t.Context())
	given := host{given: c.Config().ConnString()}
	name := newName()
	url, err := given.clone(t.Context(), name, migrateOne, "one")
	require.NoError(t, err)
	defer func() { require.NoError(t, given.drop(context.WithoutCancel(t.Context()), name)) }()
	require.Equal(t, "1", value(t, url, "select n::text from one"))
	require.Nil(t, given.client, "it is no client of a server of ours")

	for given, advice := range map[string]string{
		"host=/run/postgresql":                     "COMPANY_TEST_DATABASE_URL must be like postgres://",
		"postgres://postgres:x@127.0.0.1:1/nobody": "COMPANY_TEST_DATABASE_URL must be the URL of a superuser of a running PostgreSQL",
	} {
		h := host{given: given}
		_, err := h.clone(t.Context(), newName(), migrateOne, "one")
		require.ErrorContains(t, err, advice)
	}
}
