package app_test

import (
	"flag"
	"testing"
	"time"

	"companyos/shared/app"
	"companyos/shared/app/apptest"
	"companyos/shared/routine"
	"companyos/shared/store/storetest"
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

var benchOld = flag.Int("old", 100_000, "rows that the benchmark of retention removes")

// BenchmarkRetention removes old rows: half of them the automation's history, half of them events of 1,000 runs. It reports the
// longest transaction.
func BenchmarkRetention(b *testing.B) {
	a := &auto{Bench: apptest.New(b, 1)}
	storetest.Fill(b, a.DB, storetest.Size{Tasks: 20_000, Runs: 1000})
	a.exec("UPDATE runs SET event_seq = $1::integer / 2000, ended_at = now() - interval '300 days'", *benchOld)
	a.Config.Retention = routine.Retention{HistoryDays: 30, ArtifactDays: 30}
	whole := a.DB
	db, longest := storetest.Longest(b, whole)
	for b.Loop() {
		b.StopTimer()
		a.exec(`INSERT INTO automation_runs SELECT 'sr_' || n, 'success', now() - interval '60 days', now() - interval '60 days' + n * interval '1 second', NULL,
			'{"tasks": [{"status": "accepted", "task_id": "7d3b2c6e-3c0f-4d2b-9a57-3a8d5a4f1e11"}]}' FROM generate_series(1, $1::integer / 2) n`, *benchOld)
		a.exec(`INSERT INTO run_events SELECT 'run-' || r, n, now() - interval '300 days', 'text', '{"text": "What the agent said, line by line."}'
			FROM generate_series(0, 999) r, generate_series(1, $1::integer / 2000) n`, *benchOld)
		a.exec("ANALYZE")
		a.DB = db
		longest()
		b.StartTimer()
		got, err := a.CleanUp(b.Context(), false)
		b.StopTimer()
		if err != nil || got.History+got.Events != int64(*benchOld) {
			b.Fatalf("%+v %v", got, err)
		}
		b.ReportMetric(float64(longest().Microseconds())/1000, "longest-ms")
		a.DB = whole
		b.StartTimer()
	}
}

// BenchmarkArchive archives a Product with 10,000 Tasks and gives their rows what it added, and the same back. It reports the
// longest transaction.
func BenchmarkArchive(b *testing.B) {
	a := &auto{Bench: apptest.New(b, 1)}
	fill(a.Bench, 10_000)
	a.exec("ANALYZE")
	db, longest := storetest.Longest(b, a.DB)
	a.DB = db
	if _, err := db.Now(b.Context()); err != nil {
		b.Fatal(err)
	}
	longest()
	for b.Loop() {
		a.must(a.ArchiveProduct(b.Context(), a.ProductID))
		rows, err := a.CatchUp(b.Context(), time.Now().Add(time.Minute))
		if err != nil || rows < 10_000 {
			b.Fatalf("%d rows, %v", rows, err)
		}
		_, err = a.RestoreProduct(b.Context(), a.ProductID)
		a.must(err)
		_, err = a.CatchUp(b.Context(), time.Now().Add(time.Minute))
		a.must(err)
	}
	b.ReportMetric(float64(longest().Microseconds())/1000, "longest-ms")
}
