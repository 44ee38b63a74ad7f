package store

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// What Aurora DSQL refuses or does not mean the same by; plain PostgreSQL would take all of it.
var unportable = []struct {
	rule string
	re   *regexp.Regexp
}{
	{"enums and other types", regexp.MustCompile(`(?i)\bCREATE\s+(TYPE|DOMAIN|EXTENSION|MATERIALIZED|TEMP|TEMPORARY|FUNCTION|TRIGGER)\b`)},
	{"sequences", regexp.MustCompile(`(?i)\b(SERIAL|BIGSERIAL|CREATE\s+SEQUENCE|GENERATED\s+\w+\s+AS\s+IDENTITY|nextval)\b`)},
	{"plpgsql", regexp.MustCompile(`(?i)\b(LANGUAGE\s+plpgsql|DO\s+\$)`)},
	{"locks that guard nothing there", regexp.MustCompile(`(?i)\b(FOR\s+(KEY\s+)?SHARE|FOR\s+NO\s+KEY\s+UPDATE|SKIP\s+LOCKED|NOWAIT|LOCK\s+TABLE|pg_\w*advisory\w*)\b`)},
	{"sessions", regexp.MustCompile(`(?i)\b(LISTEN|NOTIFY|SAVEPOINT|TRUNCATE)\b`)},
	{"array columns", regexp.MustCompile(`(?i)\b(text|integer|bigint|uuid|jsonb)\s*\[\]\s*(NOT NULL|,|\))`)},
	{"descending index keys", regexp.MustCompile(`(?i)\bCREATE\s+(UNIQUE\s+)?INDEX\b[^;]*\b(DESC|ASC)\b`)},
	{"columns that need a rewrite", regexp.MustCompile(`(?i)\bADD\s+COLUMN\b[^;]*\b(NOT\s+NULL|DEFAULT)\b`)},
	{"extra schemas and other isolation", regexp.MustCompile(`(?i)\b(SET\s+TRANSACTION|SERIALIZABLE|READ\s+COMMITTED)\b`)},
}

var comment = regexp.MustCompile(`(?m)--.*$`)

func portable(t *testing.T, name, sql string) {
	t.Helper()
	sql = comment.ReplaceAllString(sql, "")
	for _, u := range unportable {
		if m := u.re.FindString(sql); m != "" {
			t.Errorf("%s: %q: %s are not portable", name, m, u.rule)
		}
	}
}

func TestStatementsArePortable(t *testing.T) {
	t.Parallel()
	checked := 0
	for _, pattern := range []string{"migrations/*.sql", "query/*.sql", "*.sql"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			portable(t, name, string(b))
			checked++
		}
	}
	if checked < 30 {
		t.Fatalf("only %d files of statements were found", checked)
	}
	for sql := range renderedLists() {
		portable(t, "list", sql)
	}
	sources, err := filepath.Glob("*.go") // statements that are written in Go
	if err != nil {
		t.Fatal(err)
	}
	literal := regexp.MustCompile("(?s)`[^`]*`|\"(?:[^\"\\\\]|\\\\.)*\"")
	for _, name := range sources {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range literal.FindAllString(string(b), -1) {
			if strings.Contains(s, "SELECT ") || strings.Contains(s, "UPDATE ") || strings.Contains(s, "INSERT ") {
				portable(t, name, s)
			}
		}
	}
}

func TestTheLintSeesWhatIsNotPortable(t *testing.T) {
	t.Parallel()
	for _, sql := range []string{
		"CREATE TYPE mood AS ENUM ('a')", "CREATE TABLE a (id bigserial)", "SELECT 1 FROM a FOR SHARE", "SELECT 1 FROM a FOR UPDATE SKIP LOCKED",
		"SELECT pg_advisory_xact_lock(1)", "CREATE INDEX i ON a (b DESC)", "ALTER TABLE a ADD COLUMN b text NOT NULL", "CREATE TABLE a (b text[] NOT NULL)",
		"TRUNCATE a", "SAVEPOINT x", "LISTEN x", "CREATE TRIGGER t", "DO $$ BEGIN END $$",
	} {
		found := false
		for _, u := range unportable {
			found = found || u.re.MatchString(sql)
		}
		if !found {
			t.Errorf("the lint lets %q pass", sql)
		}
	}
}

// renderedLists yields every statement that list.go can render.
func renderedLists() map[string]bool {
	out := map[string]bool{}
	for _, l := range []listQuery{productList, projectList, taskList, sourceList} {
		out[l.one()] = true
		for _, by := range []SortBy{SortCreated, SortUpdated} {
			for _, archived := range []bool{true, false} {
				for _, ascending := range []bool{true, false} {
					for _, after := range []*Position{nil, {ID: "x"}} {
						p := Page{Limit: 1, Number: 1, SortBy: by, Ascending: ascending, IncludeArchived: archived, After: after}
						rows, _ := l.rows(p, []filter{{"product_id", "x"}})
						total, _ := l.total(p, []filter{{"product_id", "x"}})
						out[rows], out[total] = true, true
					}
				}
			}
		}
	}
	return out
}

// eachMigration reads every migration; body is it without comments.
func eachMigration(t *testing.T, check func(name, text, body string)) {
	t.Helper()
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		b, err := migrations.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		check(name, string(b), comment.ReplaceAllString(string(b), ""))
	}
}

func TestMigrationsAreOneStatementEach(t *testing.T) {
	t.Parallel()
	eachMigration(t, func(name, text, body string) {
		if n := strings.Count(body, ";"); n != 1 {
			t.Errorf("%s: %d statements", name, n)
		}
		if !strings.Contains(text, "-- +goose NO TRANSACTION") {
			t.Errorf("%s: runs in a transaction", name)
		}
	})
}

// takesAway is what the release before could not work without. An index is not among it.
var takesAway = regexp.MustCompile(`(?i)\b(DROP\s+(TABLE|COLUMN|CONSTRAINT)|RENAME|ALTER\s+COLUMN|TRUNCATE|DELETE\s+FROM|UPDATE)\b`)

// A deployment changes the schema before the functions, and a rollback does not change it back: the functions of the release
// before work on it.
func TestMigrationsOnlyAdd(t *testing.T) {
	t.Parallel()
	eachMigration(t, func(name, _, body string) {
		if m := takesAway.FindString(body); m != "" {
			t.Errorf("%s: %q takes away what the release before needs", name, m)
		}
	})
	for _, sql := range []string{"ALTER TABLE a DROP COLUMN b", "DROP TABLE a", "ALTER TABLE a RENAME TO b", "ALTER TABLE a ALTER COLUMN b TYPE text"} {
		if !takesAway.MatchString(sql) {
			t.Errorf("the lint lets %q pass", sql)
		}
	}
}
