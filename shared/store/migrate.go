package store

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
)

// Migrations are one statement a file, each safe to run while the previous release still serves.
//
//go:embed migrations/*.sql
var migrations embed.FS

// Migrations are the files that bring a schema up to date, in their order; shared/store/schema applies them.
func Migrations() (fs.FS, error) { return fs.Sub(migrations, "migrations") }

// SchemaKey names the schema that the migrations make, by its content.
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
