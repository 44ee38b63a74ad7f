package storetest

import (
	"testing"

	"companyos/shared/store"
)

// Size is how large a Company Fill makes.
type Size struct {
	Tasks, Runs int
}

// Of a filled Company: a twentieth of the Tasks is in each of its Products, in fifty Projects.
const (
	FilledProduct = "product-0"
	FilledProject = "project-0"
	FilledTask    = "task-of-many-runs" // has a twentieth of the runs
	FilledRoutine = "routine-0"         // has a tenth of the firings
)

// fills make a Company of every kind of record that a list or a count is made of, as one looks after a year: the older Tasks
// are done, most of them archived, and what is open is young. $1 are the Tasks, $2 the runs. A twelfth of the Tasks waits for
// a person.
var fills = []string{
	`INSERT INTO products (id, name, metadata, cascades, revision, created_at)
		SELECT 'product-' || n, 'Product ' || n, '{"archive_window_days": 14}', '[]', 0, now() - interval '400 days' FROM generate_series(0, 19) n`,
	`INSERT INTO projects (id, product_id, name, status, transitions, open_id, cascades, product_archive, revision, created_at)
		SELECT 'project-' || n, 'product-' || n % 20, 'Project ' || n, 'active', '[]', 'project-' || n, '[]', 0, 0, now() - interval '399 days'
		FROM generate_series(0, 999) n`,
	`INSERT INTO tasks (id, product_id, project_id, open_project_id, title, brief, origin, status, user_id, transitions, executor_type, executor_id,
			session_id, job_id, result, failed, product_archive, project_archive, revision, created_at, updated_at, archived_at)
		SELECT CASE WHEN n = 0 THEN 'task-of-many-runs' ELSE md5('t' || n)::uuid::text END, 'product-' || n % 20, 'project-' || n % 1000,
			CASE WHEN status NOT IN ('done', 'cancelled') THEN 'project-' || n % 1000 END, 'Task ' || n, repeat('What is to be done. ', 10), 'human', status,
			'alice', '[{"from": "backlog", "target": "ready", "reason": "Accepted", "user_id": "alice", "created_at": 1767225600}, {"from": "ready", "target": "in_progress", "reason": "Task execution requested", "attempt": 1, "user_id": "alice", "created_at": 1767225601}]',
			'agent', 'engineer', md5('s' || n)::uuid::text, CASE WHEN status NOT IN ('backlog', 'ready') THEN 'run-' || n END,
			CASE WHEN failed THEN '{"run_id": "x", "status": "ERROR", "content": "It could not be built."}'::jsonb
				WHEN status IN ('in_progress', 'in_review', 'done') THEN '{"run_id": "x", "status": "COMPLETED", "content": "It was done as the brief says."}'::jsonb END,
			failed, 0, 0, 0, at, CASE WHEN status <> 'backlog' THEN at + n % 100 * interval '1 hour' END,
			CASE WHEN n < $1 * 0.7 THEN at + interval '30 days' END
		FROM (SELECT n, now() - interval '390 days' + n * interval '30 seconds' AS at, young AND k = 8 AS failed,
				(CASE WHEN young AND n / 20 % 1000 = 999 THEN 'ready' WHEN young AND k < 8 THEN 'backlog' WHEN young AND k = 8 THEN 'in_progress'
					WHEN young AND k < 17 THEN 'in_review' WHEN k < 19 THEN 'cancelled' ELSE 'done' END) AS status
			FROM (SELECT n, n / 20 % 30 AS k, n >= $1 * 0.85 AS young FROM generate_series(0, $1::integer - 1) n WHERE $2 >= 0) numbered) made`,
	`INSERT INTO runs (id, task_id, product_id, attempt, session_id, user_id, executor_type, executor_id, sandboxed, state, input_key, input_sha256,
			due_at, start_until, stop_grace_ms, launch, event_batches, event_seq, content, ended, artifacts, stopped_at, ended_at, created_at)
		SELECT 'run-' || n, CASE WHEN n % 20 = 0 THEN 'task-of-many-runs' ELSE md5('t' || n % $1)::uuid::text END, 'product-' || n % 20,
			CASE WHEN n % 20 = 0 THEN n / 20 + 1 ELSE n / $1 + 1 END, 's', 'alice', 'agent', 'engineer', FALSE, CASE WHEN n % 7 = 0 THEN 'ERROR' ELSE 'COMPLETED' END,
			'inputs/' || n, 'x', at, at, 0, 0, 0, 0, repeat('What the agent said. ', 20), '{"kind": "completed", "message": ""}', '[]', at, at, at
		FROM (SELECT n, now() - interval '390 days' + n * interval '5 minutes' AS at FROM generate_series(0, $2::integer - 1) n WHERE $1 > 0) made`,
	`INSERT INTO counts SELECT 'product', id, '', '', FALSE, FALSE, 1 FROM products WHERE $1 > 0 AND $2 >= 0`,
	`INSERT INTO counts SELECT 'project', product_id, id, status, FALSE, FALSE, 1 FROM projects WHERE $1 > 0 AND $2 >= 0`,
	`INSERT INTO counts SELECT 'task', product_id, project_id, status, failed, archived_at IS NOT NULL, count(*) FROM tasks WHERE $1 > 0 AND $2 >= 0
		GROUP BY 1, 2, 3, 4, 5, 6`,
	`INSERT INTO sources (id, product_id, type, reference, config, revision, created_at)
		SELECT 'source-' || n, 'product-' || n % 20, 'git', 'https://github.com/acme/app-' || n, '{}', 0, now() - n * interval '1 minute'
		FROM generate_series(0, 9999) n WHERE $1 > 0 AND $2 >= 0`,
	`INSERT INTO wiki_pages (namespace, path, version, size_bytes, content, updated_at)
		SELECT 'product-0', 'notes/' || n || '.md', 1, 1000, repeat('x', 1000), now() FROM generate_series(0, 9999) n WHERE $1 > 0 AND $2 >= 0`,
	`INSERT INTO decisions (id, decision, user_id, created_at)
		SELECT md5('d' || n)::uuid::text, 'Decision ' || n, 'alice', now() - n * interval '1 minute' FROM generate_series(0, 9999) n WHERE $1 > 0 AND $2 >= 0`,
	`INSERT INTO routines (id, product_id, user_id, name, executor_type, executor_id, instructions, timezone, enabled, authority, last_run, revision,
			created_at, updated_at)
		SELECT 'routine-' || n, 'product-' || n % 20, 'alice', 'Routine ' || n, 'workflow', 'notes', 'x', 'UTC', TRUE, '{}',
			CASE WHEN n % 10 = 0 THEN '{"status": "failed", "completed_at": "2026-01-01T00:00:00Z", "error": "It failed."}'::jsonb END, 0,
			now() - n * interval '1 minute', now()
		FROM generate_series(0, 999) n WHERE $1 > 0 AND $2 >= 0`,
	`INSERT INTO routine_runs (id, routine_id, product_id, status, run_id, message, authority, start_until, triggered_at, completed_at)
		SELECT 'sr_' || n, 'routine-' || CASE WHEN n % 10 = 0 THEN 0 ELSE n % 1000 END, 'product-0', 'success', 'firing-' || n, 'x', '{}', at, at, at
		FROM (SELECT n, now() - n * interval '1 minute' AS at FROM generate_series(0, $2::integer - 1) n WHERE $1 > 0) made`,
	`INSERT INTO streaks (id, task_id, product_id, reason, count, task_revision, active, triggered_at, completed_at)
		SELECT 'streak-' || id, id, product_id, 'Job queue is full', 3, 0, TRUE, now(), now() FROM (
			SELECT id, product_id FROM tasks WHERE status = 'ready' AND $1 > 0 AND $2 >= 0 ORDER BY created_at, id LIMIT 100) failing`,
}

// Fill makes a large Company in an empty database. Tests write to it by the store alone.
func Fill(t testing.TB, db *store.DB, s Size) {
	t.Helper()
	for _, statement := range fills {
		args := []any{s.Tasks, s.Runs}
		if statement == fills[0] || statement == fills[1] {
			args = nil
		}
		if _, err := db.Pool().Exec(t.Context(), statement, args...); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	if _, err := db.Pool().Exec(t.Context(), "VACUUM ANALYZE"); err != nil {
		t.Fatal(err)
	}
}
