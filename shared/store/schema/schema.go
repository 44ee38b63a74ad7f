// Package schema brings the schema of a database up to date: of a PostgreSQL, or of an Aurora DSQL cluster. It is apart
// from the store because only deployments, tests and the local program need it, and what it links is large.
package schema

import (
	"context"
	"database/sql"
	"fmt"

	_ "github.com/jackc/pgx/v5/stdlib" // goose speaks database/sql
	"github.com/pressly/goose/v3"

	"companyos/shared/store"
)

// Migrate brings the schema of a PostgreSQL up to date. One that a later release has extended stays as it is.
func Migrate(ctx context.Context, url string) error {
	db, err := sql.Open("pgx", url)
	if err != nil {
		return err
	}
	defer db.Close()
	files, err := store.Migrations()
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(goose.DialectPostgres, db, files, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return err
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("migrate the schema: %w", err)
	}
	return nil
}
