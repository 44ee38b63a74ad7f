package storetest

import (
	"fmt"
	"os"
	"strconv"
	"testing"

	"companyos/shared/store"
	"companyos/shared/store/schema"
)

// conflictsEnv makes every n-th COMMIT that wrote a Task, a run or a slot fail as a serialization failure, as on a
// database that finds conflicts at COMMIT only. The suite must pass with it as without.
const conflictsEnv = "COMPANY_TEST_COMMIT_CONFLICTS"

// Open returns a store on a new database with the present schema.
func Open(t testing.TB) *store.DB {
	t.Helper()
	key, err := store.SchemaKey()
	if err != nil {
		t.Fatal(err)
	}
	db, err := store.Open(t.Context(), store.Config{URL: New(t, schema.Migrate, key), MaxConns: 8})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	if every := os.Getenv(conflictsEnv); every != "" {
		n, err := strconv.Atoi(every)
		if err != nil || n < 2 {
			t.Fatalf("%s: a whole number of 2 or more, not %q", conflictsEnv, every)
		}
		for _, table := range []string{"tasks", "runs", "slots"} {
			failCommits(t, db, table, fmt.Sprintf("nextval('commits_of_%s') %% %d = 0", table, n))
		}
	}
	return db
}

// FailCommits lets the next n COMMITs that wrote to a table fail as a serialization failure.
func FailCommits(t testing.TB, db *store.DB, table string, n int) {
	t.Helper()
	failCommits(t, db, table, fmt.Sprintf("nextval('commits_of_%s') <= %d", table, n))
}

// failCommits uses what a store never may: a trigger that fires at COMMIT, and a sequence, which a rollback keeps.
func failCommits(t testing.TB, db *store.DB, table, when string) {
	t.Helper()
	for _, statement := range []string{
		fmt.Sprintf(`CREATE SEQUENCE commits_of_%s`, table),
		fmt.Sprintf(`CREATE FUNCTION conflict_%s() RETURNS trigger LANGUAGE plpgsql AS $$
			BEGIN
				IF %s THEN RAISE EXCEPTION 'injected conflict' USING ERRCODE = '40001'; END IF;
				RETURN NULL;
			END $$`, table, when),
		fmt.Sprintf(`CREATE CONSTRAINT TRIGGER conflict AFTER INSERT OR UPDATE ON %s DEFERRABLE INITIALLY DEFERRED
			FOR EACH ROW EXECUTE FUNCTION conflict_%s()`, table, table),
	} {
		if _, err := db.Pool().Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
}

// Overtake lets every UPDATE of a table find nothing to change, as when somebody else has changed the row since it was read.
func Overtake(t testing.TB, db *store.DB, table string) {
	t.Helper()
	for _, statement := range []string{
		fmt.Sprintf(`CREATE FUNCTION overtaken_%s() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$`, table),
		fmt.Sprintf(`CREATE TRIGGER overtaken BEFORE UPDATE ON %s FOR EACH ROW EXECUTE FUNCTION overtaken_%s()`, table, table),
	} {
		if _, err := db.Pool().Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
}
