package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"

	_ "github.com/jackc/pgx/v5/stdlib" // goose speaks database/sql
	"github.com/pressly/goose/v3"
)

// Migrations are one statement a file, each safe to run while the previous release still serves.
//
//go:embed migrations/*.sql
var migrations embed.FS

// Migrations are the files that Migrate applies, for another dialect.
func Migrations() (fs.FS, error) { return fs.Sub(migrations, "migrations") }

// Migrate brings the schema of a database up to date.
func Migrate(ctx context.Context, url string) error {
	db, err := sql.Open("pgx", url)
	if err != nil {
		return err
	}
	defer db.Close()
	files, err := Migrations()
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

// SchemaKey names the schema that Migrate makes, by its content.
func SchemaKey() (string, error) {
	h := sha256.New()
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return "", err
	}
	for _, name := range names {
		b, err := migrations.ReadFile(name)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%s %d\n%s", name, len(b), b)
	}
	return hex.EncodeToString(h.Sum(nil))[:16], nil
}
