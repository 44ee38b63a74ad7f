package app_test

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"companyos/shared/app/apptest"
	"companyos/shared/task"
)

// TestRunOfAnotherPersonsTask starts as Bob what Alice made: the session stays hers, and the run says who started it.
func TestRunOfAnotherPersonsTask(t *testing.T) {
	t.Parallel()
	b := apptest.New(t, 1)
	made := b.NewTask(task.ExecutorAgent, apptest.Engineer)
	bob := task.Caller{ID: "bob", Scopes: []string{task.AdminScope}}
	started, err := b.StartRun(t.Context(), made.ID, task.Start{Attempt: 1, By: bob})
	if err != nil {
		t.Fatal(err)
	}
	run := b.RunNow(started.RunID)
	if run.UserID == nil || *run.UserID != "alice" || run.StartedBy == nil || *run.StartedBy != "bob" || run.SessionID != made.SessionID {
		t.Errorf("owner %v, started by %v, session %s", run.UserID, run.StartedBy, run.SessionID)
	}
}

// TestDatabaseHoldsOneLiveRun goes around every guard of this program: the database refuses a second live run of a Task.
func TestDatabaseHoldsOneLiveRun(t *testing.T) {
	t.Parallel()
	b := apptest.New(t, 1)
	run := b.Start(b.NewTask(task.ExecutorAgent, apptest.Engineer).ID, 1)
	_, err := b.DB.Pool().Exec(t.Context(), `INSERT INTO runs SELECT (jsonb_populate_record(r, '{"id": "another", "attempt": 2}')).* FROM runs r WHERE id = $1`, run)
	refused, ok := errors.AsType[*pgconn.PgError](err)
	if !ok || refused.ConstraintName != "runs_live" {
		t.Errorf("the database said %v", err)
	}
}
