// Package store keeps a Company in PostgreSQL. Its SQL is the portable kind that Aurora DSQL runs too: see portable.go.
//
// Reads are single statements on the pool. Writes go through Transact, which runs a closure in one REPEATABLE READ
// transaction and repeats it after a conflict; nothing inside a closure may have an effect outside the database.
package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"companyos/shared/store/internal/pgq"
	"companyos/shared/task"
)

// DB is an open store.
type DB struct {
	pool *pgxpool.Pool
}

// Config says how to reach the database.
type Config struct {
	URL            string
	MaxConns       int32
	ConnectTimeout time.Duration                                          // default 2 s
	Password       func(ctx context.Context) (password string, err error) // asked at each connection when set
}

// Longest life of a connection: below the hour after which Aurora DSQL ends one.
const maxConnLifetime = 50 * time.Minute

// Open prepares a store. It connects at the first use, so it does not fail for a database that is away.
func Open(ctx context.Context, c Config) (*DB, error) {
	pc, err := pgxpool.ParseConfig(c.URL)
	if err != nil {
		return nil, fmt.Errorf("the database URL is not valid: %w", err)
	}
	// Each statement is planned with its values, so that the optional filters of a list cost nothing, and no prepared
	// statement is kept that a migration could make stale.
	pc.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	pc.ConnConfig.ConnectTimeout = max(c.ConnectTimeout, 2*time.Second)
	pc.ConnConfig.RuntimeParams["application_name"] = "company"
	pc.MaxConns = max(c.MaxConns, 1)
	pc.MaxConnLifetime = maxConnLifetime
	pc.PingTimeout = 2 * time.Second
	if c.Password != nil {
		pc.BeforeConnect = func(ctx context.Context, cc *pgx.ConnConfig) (err error) {
			cc.Password, err = c.Password(ctx)
			return err
		}
	}
	pool, err := pgxpool.NewWithConfig(ctx, pc)
	if err != nil {
		return nil, err
	}
	return &DB{pool: pool}, nil
}

// Close ends all connections.
func (db *DB) Close() { db.pool.Close() }

// Pool is the connection pool, for migrations and for tests of this package's callers.
func (db *DB) Pool() *pgxpool.Pool { return db.pool }

// single returns queries that run as single statements, each in a transaction of its own. One that was in conflict is repeated.
func (db *DB) single() *pgq.Queries { return pgq.New(statements{db.pool}) }

type statements struct{ *pgxpool.Pool }

// Exec implements pgq.DBTX.
func (s statements) Exec(ctx context.Context, statement string, args ...any) (tag pgconn.CommandTag, err error) {
	err = again(ctx, func() (err error) {
		tag, err = s.Pool.Exec(ctx, statement, args...)
		return err
	})
	return tag, err
}

// QueryRow implements pgq.DBTX.
func (s statements) QueryRow(ctx context.Context, statement string, args ...any) pgx.Row {
	return row(func(into ...any) error {
		return again(ctx, func() error { return s.Pool.QueryRow(ctx, statement, args...).Scan(into...) })
	})
}

type row func(into ...any) error

// Scan implements pgx.Row.
func (r row) Scan(into ...any) error { return r(into...) }

// Tx is one transaction.
type Tx struct {
	q  *pgq.Queries
	tx pgx.Tx
}

type txKey struct{}

// Bounds of Transact.
const (
	maxTries   = 5
	maxTrying  = 2 * time.Second
	firstPause = 5 * time.Millisecond
)

// ErrUnknownOutcome is a COMMIT of which nobody knows whether it happened. Whoever gets it reads by id what is there; where
// nobody does, it is KindUnavailable to the caller.
var ErrUnknownOutcome = errors.New("the outcome of the commit is unknown")

// Transact runs f in one REPEATABLE READ transaction and repeats it after a serialization failure, a deadlock or a
// unique violation that f's guard expects a concurrent writer to cause. It does not repeat a COMMIT whose outcome is
// unknown. An error of f is returned as it is; conflicts that do not end and a database that is away become
// KindUnavailable. Transactions do not nest.
func (db *DB) Transact(ctx context.Context, f func(ctx context.Context, tx *Tx) error) error {
	if ctx.Value(txKey{}) != nil {
		return errors.New("store: a transaction inside a transaction")
	}
	ctx = context.WithValue(ctx, txKey{}, true)
	return again(ctx, func() error { return db.once(ctx, f) })
}

// again repeats f after a conflict.
func again(ctx context.Context, f func() error) error {
	began, pause := time.Now(), firstPause
	for try := 1; ; try++ {
		err := f()
		if err == nil || !conflict(err) {
			return unavailable(err)
		}
		if try == maxTries || time.Since(began) > maxTrying {
			return task.Unavailable("busy", "Too many concurrent changes of the same records", err)
		}
		select {
		case <-ctx.Done():
			return unavailable(ctx.Err())
		case <-time.After(pause + rand.N(pause)):
			pause *= 2
		}
	}
}

func (db *DB) once(ctx context.Context, f func(ctx context.Context, tx *Tx) error) error {
	tx, err := db.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	if err != nil {
		return err
	}
	defer rollback(ctx, tx)
	if err := f(ctx, &Tx{q: pgq.New(tx), tx: tx}); err != nil {
		return err
	}
	err = tx.Commit(ctx)
	if err == nil || errors.Is(err, pgx.ErrTxCommitRollback) || errors.As(err, new(*pgconn.PgError)) {
		return err // the server answered: the outcome is known
	}
	return unknownOutcome(err)
}

// rollback reaches the server although the caller has gone away, and does not wait for one that answers nothing: pgx ends the
// connection then.
func rollback(ctx context.Context, tx pgx.Tx) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), maxTrying)
	defer cancel()
	_ = tx.Rollback(ctx)
}

func unknownOutcome(err error) error {
	e := task.Unavailable("outcome_unknown", "The database went away before it said whether the change was made", fmt.Errorf("%w: %w", ErrUnknownOutcome, err))
	e.Remedy = "Read the record before you ask again: the change may have been made. A creation with an Idempotency-Key may be repeated as it is."
	return e
}

// SQLSTATE codes that Transact repeats.
const (
	stateSerialization = "40001"
	stateDeadlock      = "40P01"
	stateUnique        = "23505"
	stateForeignKey    = "23503"
)

// raceConstraints are violated only by a concurrent writer that won after the guard was read, so a repeat sees it.
var raceConstraints = map[string]bool{
	"runs_live":                       true,
	"runs_pkey":                       true,
	"runs_task_id_attempt_key":        true,
	"slots_pkey":                      true,
	"slots_run_id_key":                true,
	"products_pkey":                   true, // of the setup's Product: all others have random ids
	"sources_pkey":                    true, // of a declared Source
	"wiki_pages_pkey":                 true,
	"wiki_versions_pkey":              true,
	"counts_pkey":                     true,
	"tasks_product_id_dedupe_key_key": true,
}

func conflict(err error) bool {
	pe, ok := errors.AsType[*pgconn.PgError](err)
	if !ok || errors.Is(err, ErrUnknownOutcome) {
		return false
	}
	switch pe.Code {
	case stateSerialization, stateDeadlock:
		return true
	case stateUnique:
		return raceConstraints[pe.ConstraintName]
	}
	return false
}

// unavailable turns failures of the connection into KindUnavailable and leaves everything else alone.
func unavailable(err error) error {
	if err == nil || errors.As(err, new(*task.Error)) {
		return err
	}
	pe, answered := errors.AsType[*pgconn.PgError](err)
	switch {
	case answered && pe.Code[:2] != "08" && pe.Code[:2] != "53" && pe.Code[:2] != "57" && pe.Code[:2] != "25":
		return err
	case errors.Is(err, pgx.ErrNoRows), errors.Is(err, context.Canceled):
		return err
	case answered, errors.Is(err, context.DeadlineExceeded), pgconn.SafeToRetry(err), errors.As(err, new(*pgconn.ConnectError)),
		errors.As(err, new(interface{ Timeout() bool })), connectionLost(err):
		return task.Unavailable("database_unavailable", "The database is not reachable", err)
	}
	return err
}

// Now is the database's clock.
func (db *DB) Now(ctx context.Context) (now time.Time, err error) {
	err = db.pool.QueryRow(ctx, "SELECT clock_timestamp()").Scan(&now)
	return now, unavailable(err)
}

// connectionLost says that the connection broke under a statement.
func connectionLost(err error) bool {
	return errors.Is(err, pgconn.ErrConnClosed) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || errors.As(err, new(*net.OpError))
}
