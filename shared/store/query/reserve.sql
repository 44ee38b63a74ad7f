-- name: ReserveRun :execrows
-- Guard: the Task's revision as seen, no live run, and the clock still before the moment at which the wake arrives that
-- was sent first. The run with its first event, the Task and the counters are written by this one statement or not at all.
WITH guarded AS (
    UPDATE tasks
    SET status = 'in_progress', transitions = sqlc.arg(transitions), job_id = sqlc.arg(run_id)::text,
        live_run_id = sqlc.arg(run_id)::text, result = NULL, failed = FALSE, product_archive = sqlc.arg(product_archive),
        project_archive = sqlc.arg(project_archive), revision = tasks.revision + 1, updated_at = sqlc.arg(updated_at)
    WHERE tasks.id = sqlc.arg(task_id) AND tasks.revision = sqlc.arg(revision) AND tasks.live_run_id IS NULL
        AND clock_timestamp() < sqlc.arg(due_at)
    RETURNING tasks.id, tasks.product_id, tasks.project_id
), left_behind AS (
    INSERT INTO count_deltas (id, kind, product_id, project_id, status, failed, archived, n)
    SELECT sqlc.arg(minus_id)::uuid, 'task', product_id, project_id, sqlc.arg(seen_status)::text, sqlc.arg(seen_failed)::boolean, FALSE, -1
    FROM guarded
), arrived AS (
    INSERT INTO count_deltas (id, kind, product_id, project_id, status, failed, archived, n)
    SELECT sqlc.arg(plus_id)::uuid, 'task', product_id, project_id, 'in_progress', FALSE, FALSE, 1
    FROM guarded
), told AS (
    INSERT INTO run_events (run_id, seq, at, type, body)
    SELECT sqlc.arg(run_id), 1, sqlc.arg(updated_at), sqlc.narg(event_type)::text, sqlc.narg(event_body)::jsonb
    FROM guarded
    WHERE sqlc.narg(event_type)::text IS NOT NULL
)
INSERT INTO runs (id, task_id, product_id, attempt, session_id, user_id, started_by, executor_type, executor_id, sandboxed,
    state, input_key, input_sha256, source_id, checkout, due_at, start_until, stop_grace_ms, launch, event_batches, event_seq,
    content, artifacts, waiting_reason, waiting_since, created_at)
SELECT sqlc.arg(run_id), guarded.id, guarded.product_id, sqlc.arg(attempt), sqlc.arg(session_id), sqlc.narg(user_id),
    sqlc.narg(started_by), sqlc.arg(executor_type), sqlc.arg(executor_id), sqlc.arg(sandboxed), 'PENDING',
    sqlc.arg(input_key), sqlc.arg(input_sha256), sqlc.narg(source_id), sqlc.narg(checkout), sqlc.arg(due_at),
    sqlc.arg(start_until), sqlc.arg(stop_grace_ms), 0, 0,
    CASE WHEN sqlc.narg(event_type)::text IS NULL THEN 0 ELSE 1 END, '', '[]', sqlc.narg(waiting_reason), sqlc.narg(waiting_since),
    sqlc.arg(updated_at)
FROM guarded;
