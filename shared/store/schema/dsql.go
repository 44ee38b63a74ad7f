package schema

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"companyos/shared/store"
)

// statement is a migration as a cluster takes it.
type statement struct {
	version int64
	sql     string
}

var (
	comment   = regexp.MustCompile(`(?m)^--.*$`)
	index     = regexp.MustCompile(`^CREATE (UNIQUE )?INDEX (\w+) `)
	table     = regexp.MustCompile(`^CREATE TABLE (\w+) `)
	addColumn = regexp.MustCompile(`^(ALTER TABLE \w+ ADD COLUMN) (\w+) `)
)

// statements renders the store's migrations. An index is built aside, and each statement may be given again: a cluster
// may refuse to note that one was applied, because a change of the schema was in the way.
func statements() ([]statement, error) {
	files, err := store.Migrations()
	if err != nil {
		return nil, err
	}
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		return nil, err
	}
	all := make([]statement, 0, len(names))
	for _, name := range names {
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		number, _, _ := strings.Cut(name, "_")
		version, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("migration %s has no number: %w", name, err)
		}
		all = append(all, statement{version, render(string(data))})
	}
	return all, nil
}

func render(text string) string {
	text = strings.TrimSuffix(strings.TrimSpace(comment.ReplaceAllString(text, "")), ";")
	text = index.ReplaceAllString(text, "CREATE ${1}INDEX ASYNC IF NOT EXISTS $2 ")
	text = table.ReplaceAllString(text, "CREATE TABLE IF NOT EXISTS $1 ")
	return addColumn.ReplaceAllString(text, "$1 IF NOT EXISTS $2 ")
}

// MigrateDSQL is Migrate for a cluster: one statement at a time, each outside a transaction with others, each index
// awaited. c is that of a cluster's admin.
func MigrateDSQL(ctx context.Context, c store.Config) error {
	db, err := open(c)
	if err != nil {
		return err
	}
	defer db.Close()
	all, err := statements()
	if err != nil {
		return err
	}
	migrations := make([]*goose.Migration, len(all))
	for i, s := range all {
		migrations[i] = goose.NewGoMigration(s.version, &goose.GoFunc{RunDB: func(ctx context.Context, db *sql.DB) error {
			return apply(ctx, db, s.sql)
		}}, nil)
	}
	return again(ctx, func() error {
		p, err := goose.NewProvider(goose.DialectAuroraDSQL, db, nil, goose.WithGoMigrations(migrations...), goose.WithDisableGlobalRegistry(true))
		if err != nil {
			return err
		}
		if _, err := p.Up(ctx); err != nil {
			return fmt.Errorf("migrate the schema: %w", err)
		}
		return nil
	})
}

func open(c store.Config) (*sql.DB, error) {
	config, err := pgx.ParseConfig(c.URL)
	if err != nil {
		return nil, fmt.Errorf("the database URL is not valid: %w", err)
	}
	// Nothing is prepared: a prepared statement would not outlive the next change of the schema.
	config.DefaultQueryExecMode = pgx.QueryExecModeDescribeExec
	db := stdlib.OpenDB(*config, stdlib.OptionBeforeConnect(func(ctx context.Context, cc *pgx.ConnConfig) (err error) {
		if c.Password != nil {
			cc.Password, err = c.Password(ctx)
		}
		return err
	}))
	return db, nil
}

func apply(ctx context.Context, db *sql.DB, statement string) error {
	if !strings.Contains(statement, " INDEX ASYNC ") {
		_, err := db.ExecContext(ctx, statement)
		return err
	}
	var job sql.NullString
	err := db.QueryRowContext(ctx, statement).Scan(&job)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	return await(ctx, db, job.String)
}

// jobPoll is the time between two looks at an index that is being built.
const jobPoll = time.Second

// await waits until an index is built. Without a job, because the index was there, it waits for those of whoever made it.
func await(ctx context.Context, db *sql.DB, job string) error {
	if job != "" {
		if _, err := db.ExecContext(ctx, "CALL sys.wait_for_job("+quote(job)+")"); err != nil && !conflict(err) {
			return err
		}
	}
	for {
		var unfinished, failed int
		err := db.QueryRowContext(ctx, `
			SELECT count(*) FILTER (WHERE status IN ('submitted', 'processing')), count(*) FILTER (WHERE status = 'failed' AND job_id = $1)
			FROM sys.jobs`, job).Scan(&unfinished, &failed)
		switch {
		case err != nil && !conflict(err):
			return err
		case failed > 0:
			return fmt.Errorf("the index was not built: job %s failed", job)
		case err == nil && unfinished == 0:
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(jobPoll):
		}
	}
}

// GrantDSQL lets IAM roles connect as a user who may read and write every table and change no schema. c is that of a
// cluster's admin.
func GrantDSQL(ctx context.Context, c store.Config, user string, roles []string) error {
	db, err := open(c)
	if err != nil {
		return err
	}
	defer db.Close()
	name := pgx.Identifier{user}.Sanitize()
	unless := func(query string, args []any, statement string) error {
		return again(ctx, func() error {
			var found bool
			if err := db.QueryRowContext(ctx, query, args...).Scan(&found); err != nil || found {
				return err
			}
			_, err := db.ExecContext(ctx, statement)
			return err
		})
	}
	if err := unless("SELECT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = $1)", []any{user}, "CREATE ROLE "+name+" WITH LOGIN"); err != nil {
		return fmt.Errorf("create the database role: %w", err)
	}
	for _, role := range roles {
		mapped := "SELECT EXISTS (SELECT 1 FROM sys.iam_pg_role_mappings WHERE arn = $1 AND pg_role_name = $2)"
		if err := unless(mapped, []any{role, user}, "AWS IAM GRANT "+name+" TO "+quote(role)); err != nil {
			return fmt.Errorf("let %s connect: %w", role, err)
		}
	}
	for _, statement := range []string{
		"GRANT USAGE ON SCHEMA public TO " + name,
		"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO " + name,
	} {
		if err := unless("SELECT false", nil, statement); err != nil {
			return fmt.Errorf("grant the tables: %w", err)
		}
	}
	return nil
}

func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// maxTries bounds how often a step is repeated for a change of the schema that is under way.
const maxTries = 12

// again repeats f while the cluster answers that the schema or the data changed under it.
func again(ctx context.Context, f func() error) error {
	pause := 50 * time.Millisecond
	for try := 1; ; try++ {
		err := f()
		if err == nil || !conflict(err) || try == maxTries {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause + rand.N(pause)):
			pause = min(2*pause, 2*time.Second)
		}
	}
}

// conflict is SQLSTATE 40001, which a cluster also answers, as OC001, after a change of the schema.
func conflict(err error) bool {
	pe, ok := errors.AsType[*pgconn.PgError](err)
	return ok && pe.Code == "40001"
}
