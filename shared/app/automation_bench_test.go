package app_test

import (
	"testing"

	"companyos/shared/app"
	"companyos/shared/app/apptest"
	"companyos/shared/store"
	"companyos/shared/task"
)

// idle fills a Company with Tasks that no tick has to look at, of every kind there is.
func idle(b testing.TB, n int) *auto {
	b.Helper()
	a := &auto{Bench: apptest.New(b, 1)}
	template, err := a.DB.Pool().Exec(b.Context(), `INSERT INTO routines (id, product_id, user_id, name, executor_type, executor_id, instructions, timezone, enabled,
			policy, fingerprint, policy_ends_at, budget, granted_by, authority, revision, created_at, updated_at)
		SELECT 'spent', $1, 'alice', 'spent', 'workflow', 'notes', 'x', 'UTC', TRUE, '{}', 'f', now() + interval '1 day', 1, '{}', '{}', 0, now(), now()`, a.ProductID)
	if err != nil || template.RowsAffected() != 1 {
		b.Fatal(err)
	}
	a.exec("INSERT INTO acceptances VALUES ('spent', 'f', 'other', now())")
	a.exec(`INSERT INTO tasks (id, product_id, project_id, open_project_id, title, origin, routine_id, status, transitions, session_id, result, failed,
			product_archive, project_archive, revision, created_at)
		SELECT 't' || n, $1, $2, CASE WHEN n % 5 < 4 THEN $2 END, 'Task ' || n, CASE WHEN n % 5 = 1 THEN 'routine' ELSE 'human' END,
			CASE WHEN n % 5 = 1 THEN 'spent' END, (ARRAY['backlog', 'backlog', 'in_review', 'in_progress', 'done'])[n % 5 + 1], '[]', 's' || n,
			CASE WHEN n % 5 = 3 THEN '{"run_id": "x", "status": "ERROR", "content": "no"}'::jsonb END, n % 5 = 3, 0, 0, 0, now() - n * interval '1 second'
		FROM generate_series(1, $3::int) n`, a.ProductID, a.ProjectID, n)
	a.exec(`INSERT INTO counts SELECT 'task', product_id, project_id, status, failed, FALSE, count(*) FROM tasks GROUP BY 1, 2, 3, 4, 5`)
	for _, table := range []string{"tasks", "routines", "runs", "streaks", "counts"} {
		a.exec("ANALYZE " + table)
	}
	return a
}

// BenchmarkIdleTick is a tick over 100,000 Tasks that wait for people.
func BenchmarkIdleTick(b *testing.B) {
	a := idle(b, 100_000)
	for b.Loop() {
		if got := a.tick(); got.Status != app.TickIdle {
			b.Fatalf("%+v", got)
		}
	}
}

// BenchmarkAttention is the first page and a deep one of what waits among 100,000 Tasks.
func BenchmarkAttention(b *testing.B) {
	a := idle(b, 100_000)
	read := func(b testing.TB, p store.Page) app.Attention {
		got, err := a.Attention(b.Context(), a.ProductID, p)
		if err != nil || len(got.Items) != p.Limit {
			b.Fatalf("%d items, %v", len(got.Items), err)
		}
		return got
	}
	deep := read(b, store.Page{Limit: 20, Number: 999}).Next
	for name, p := range map[string]store.Page{
		"page 1": {Limit: 20, Number: 1}, "page 1000": {Limit: 20, Number: 1000}, "page 1000 by cursor": {Limit: 20, Number: 1, After: deep},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				read(b, p)
			}
		})
	}
}

// BenchmarkDispatch is a tick that starts so many accepted Tasks.
func BenchmarkDispatch(b *testing.B) {
	a := &auto{Bench: apptest.New(b, 1)}
	a.Config.MaxPending = 1 << 20
	for b.Loop() {
		a.NewTask(task.ExecutorWorkflow, apptest.Notes)
		if got := a.tick(); len(got.Tasks) != 1 || got.Tasks[0].Action != "submitted" {
			b.Fatalf("%+v", got)
		}
	}
}
