package schema_test

import (
	"context"
	"errors"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"companyos/shared/store"
	"companyos/shared/store/schema"
	"companyos/shared/store/storetest"
)

var update = flag.Bool("update", false, "write testdata/dsql.sql")

// The rendered statements are a file, so that the cluster's linter can read them: dsql-lint testdata/dsql.sql.
func TestRenderedMigrations(t *testing.T) {
	t.Parallel()
	all, err := schema.RenderedDSQL()
	if err != nil || len(all) < 25 {
		t.Fatalf("%d statements, %v", len(all), err)
	}
	var b strings.Builder
	for _, s := range all {
		b.WriteString(s + ";\n\n")
	}
	const file = "testdata/dsql.sql"
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("go test ./shared/store/schema -run Rendered -update writes it again:\n%s", diff)
	}
}

func TestRender(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"-- +goose Up\n-- why\nCREATE INDEX a ON b (c) WHERE d;\n": "CREATE INDEX ASYNC IF NOT EXISTS a ON b (c) WHERE d",
		"CREATE UNIQUE INDEX a ON b (c);":                          "CREATE UNIQUE INDEX ASYNC IF NOT EXISTS a ON b (c)",
		"CREATE TABLE a (\n    b text\n);":                         "CREATE TABLE IF NOT EXISTS a (\n    b text\n)",
		"ALTER TABLE a ADD COLUMN b text;":                         "ALTER TABLE a ADD COLUMN IF NOT EXISTS b text",
	} {
		if got := schema.Render(text); got != want {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// contents is what a database holds of tables, columns, constraints and indexes.
func contents(t *testing.T, url string) []string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	rows, err := conn.Query(t.Context(), `
		SELECT table_name || '.' || column_name || ' ' || data_type || ' ' || is_nullable FROM information_schema.columns WHERE table_schema = 'public'
		UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'
		UNION ALL SELECT conrelid::regclass || ' ' || pg_get_constraintdef(oid) FROM pg_constraint WHERE connamespace = 'public'::regnamespace AND contype IN ('c', 'f')`)
	if err != nil {
		t.Fatal(err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	all = slices.DeleteFunc(all, func(s string) bool { return strings.Contains(s, "goose") })
	slices.Sort(all)
	return all
}

func TestMigrateMakesTheSameSchema(t *testing.T) {
	t.Parallel()
	cluster, config := newStandIn(t)
	// Whatever is refused for a change of the schema is done again, and what was done already does no harm.
	cluster.refuse = map[string]int{"CREATE TABLE IF NOT EXISTS tasks": 2, "INSERT INTO goose_db_version": 3, "INDEX ASYNC IF NOT EXISTS runs_live": 1}
	for range 2 {
		if err := schema.MigrateDSQL(t.Context(), config); err != nil {
			t.Fatal(err)
		}
	}
	if cluster.refused != 6 {
		t.Errorf("%d statements were refused, want 6", cluster.refused)
	}
	key, err := store.SchemaKey()
	if err != nil {
		t.Fatal(err)
	}
	want := contents(t, storetest.New(t, schema.Migrate, key))
	if diff := cmp.Diff(want, contents(t, config.URL)); diff != "" {
		t.Errorf("PostgreSQL's (-) and the cluster's (+):\n%s", diff)
	}
}

func TestMigrateGivesUpWhereTheSchemaNeverRests(t *testing.T) {
	t.Parallel()
	cluster, config := newStandIn(t)
	cluster.refuse = map[string]int{"CREATE TABLE IF NOT EXISTS products": 1000}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := schema.MigrateDSQL(ctx, config); err == nil {
		t.Error("no error")
	}
}

func TestAnIndexThatIsNotBuiltFails(t *testing.T) {
	t.Parallel()
	_, config := newStandIn(t)
	db, err := schema.Open(config)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), "INSERT INTO sys.jobs VALUES ('other', 'failed'), ('mine', 'failed')"); err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), "CREATE OR REPLACE PROCEDURE sys.wait_for_job(job text) LANGUAGE sql AS $$ SELECT 1 $$"); err != nil {
		t.Fatal(err)
	}
	if err := schema.Await(t.Context(), db, "mine"); err == nil || !strings.Contains(err.Error(), "mine failed") {
		t.Errorf("%v", err)
	}
	if _, err := db.ExecContext(t.Context(), "UPDATE sys.jobs SET status = 'processing'"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := schema.Await(ctx, db, ""); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v; want to wait for what is built", err)
	}
}

func TestGrantIsRepeatable(t *testing.T) {
	t.Parallel()
	cluster, config := newStandIn(t)
	if err := schema.MigrateDSQL(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	roles := []string{"arn:aws:iam::111122223333:role/api", "arn:aws:iam::111122223333:role/dispatch"}
	// The test's user makes no roles on a shared server: that this one is there is the repeat's case.
	cluster.refuse = map[string]int{"AWS IAM GRANT": 1, "GRANT SELECT": 1}
	for range 2 {
		if err := schema.GrantDSQL(t.Context(), config, storetest.Role, roles); err != nil {
			t.Fatal(err)
		}
	}
	db, err := schema.Open(config)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var mapped string
	if err := db.QueryRowContext(t.Context(), "SELECT string_agg(arn || '=' || pg_role_name, ' ' ORDER BY arn) FROM sys.iam_pg_role_mappings").Scan(&mapped); err != nil {
		t.Fatal(err)
	}
	if want := roles[0] + "=" + storetest.Role + " " + roles[1] + "=" + storetest.Role; mapped != want || cluster.refused != 2 {
		t.Errorf("%s, %d refused", mapped, cluster.refused)
	}
}

// A rollback brings an earlier release to a schema that a later one has extended.
func TestALaterSchemaIsLeftAlone(t *testing.T) {
	t.Parallel()
	key, err := store.SchemaKey()
	if err != nil {
		t.Fatal(err)
	}
	url := storetest.New(t, schema.Migrate, key)
	_, cluster := newStandIn(t)
	if err := schema.MigrateDSQL(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		url     string
		migrate func(context.Context) error
		insert  string
	}{
		"PostgreSQL": {url, func(ctx context.Context) error { return schema.Migrate(ctx, url) }, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (99999, true)"},
		"cluster":    {cluster.URL, func(ctx context.Context) error { return schema.MigrateDSQL(ctx, cluster) }, "INSERT INTO goose_db_version (id, version_id, is_applied) VALUES (99999, 99999, true)"},
	} {
		before := contents(t, tt.url)
		conn, err := pgx.Connect(t.Context(), tt.url)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Exec(t.Context(), tt.insert); err != nil {
			t.Fatal(err)
		}
		conn.Close(t.Context())
		if err := tt.migrate(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(before, contents(t, tt.url)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}
