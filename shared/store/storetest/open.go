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
			failCommits(t, db, table, suiteConflict+table, func(next string) string { return next + " % " + strconv.Itoa(n) + " = 0" })
		}
	}
	return db
}

// FailCommits lets the next n COMMITs that wrote to a table fail as a serialization failure. What the suite injects there is
// taken away: the test counts on its own.
func FailCommits(t testing.TB, db *store.DB, table string, n int) {
	t.Helper()
	if _, err := db.Pool().Exec(t.Context(), "DROP TRIGGER IF EXISTS "+suiteConflict+table+" ON "+table); err != nil {
		t.Fatal(err)
	}
	failCommits(t, db, table, "own_conflict_"+table, func(next string) string { return next + " <= " + strconv.Itoa(n) })
}

// suiteConflict begins the names of what conflictsEnv makes.
const suiteConflict = "suite_conflict_"

// failCommits uses what a store never may: a trigger that fires at COMMIT, and a sequence, which a rollback keeps. It fires
// once a transaction, for what the store does, its transactions and its generated statements, and not for what a test
// writes by hand. when is the condition on the sequence's next number.
func failCommits(t testing.TB, db *store.DB, table, name string, when func(next string) string) {
	t.Helper()
	for _, statement := range []string{
		"CREATE SEQUENCE " + name,
		fmt.Sprintf(`CREATE FUNCTION %s() RETURNS trigger LANGUAGE plpgsql AS $$
			BEGIN
				IF (current_query() ILIKE 'commit%%' OR current_query() LIKE '-- name:%%')
					AND current_setting('company.%s', true) IS DISTINCT FROM pg_current_xact_id()::text THEN
					PERFORM set_config('company.%s', pg_current_xact_id()::text, false);
					IF %s THEN RAISE EXCEPTION 'injected conflict' USING ERRCODE = '40001'; END IF;
				END IF;
				RETURN NULL;
			END $$`, name, name, name, when("nextval('"+name+"')")),
		fmt.Sprintf(`CREATE CONSTRAINT TRIGGER %s AFTER INSERT OR UPDATE ON %s DEFERRABLE INITIALLY DEFERRED
			FOR EACH ROW EXECUTE FUNCTION %s()`, name, table, name),
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
