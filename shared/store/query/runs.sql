-- name: Run :one
SELECT * FROM runs WHERE id = sqlc.arg(id);

-- name: RunAndClock :one
SELECT sqlc.embed(runs), clock_timestamp()::timestamptz AS now FROM runs WHERE id = sqlc.arg(id);

-- name: UpdateRun :execrows
-- Guard: everything that the rules of a run look at is as the writer saw it.
UPDATE runs
SET state = sqlc.arg(state), source_id = sqlc.arg(source_id), checkout = sqlc.arg(checkout), due_at = sqlc.arg(due_at), run_until = sqlc.arg(run_until),
    launch = sqlc.arg(launch), launch_token = sqlc.arg(launch_token), launch_hash = sqlc.arg(launch_hash),
    token_until = sqlc.arg(token_until), calling_until = sqlc.arg(calling_until),
    sandbox_handle = sqlc.arg(sandbox_handle), claimed_by = sqlc.arg(claimed_by), claimed_at = sqlc.arg(claimed_at),
    session_hash = sqlc.arg(session_hash), lease_until = sqlc.arg(lease_until), cancel_at = sqlc.arg(cancel_at),
    prepared_at = sqlc.arg(prepared_at), stopped_at = sqlc.arg(stopped_at), stop_reason = sqlc.arg(stop_reason),
    event_batches = sqlc.arg(event_batches), result_key = sqlc.arg(result_key), result_sha256 = sqlc.arg(result_sha256),
    content = sqlc.arg(content), content_type = sqlc.arg(content_type), ended = sqlc.arg(ended), usage = sqlc.arg(usage),
    artifacts = sqlc.arg(artifacts), sandbox = sqlc.arg(sandbox), waiting_reason = sqlc.arg(waiting_reason),
    waiting_since = sqlc.arg(waiting_since), ended_at = sqlc.arg(ended_at), updated_at = sqlc.arg(updated_at)
WHERE id = sqlc.arg(id) AND state = sqlc.arg(seen_state) AND launch = sqlc.arg(seen_launch)
    AND due_at = sqlc.arg(seen_due_at) AND event_batches = sqlc.arg(seen_event_batches)
    AND claimed_by IS NOT DISTINCT FROM sqlc.narg(seen_claimed_by)
    AND session_hash IS NOT DISTINCT FROM sqlc.narg(seen_session_hash)
    AND sandbox_handle IS NOT DISTINCT FROM sqlc.narg(seen_sandbox_handle)
    AND calling_until IS NOT DISTINCT FROM sqlc.narg(seen_calling_until)
    AND cancel_at IS NOT DISTINCT FROM sqlc.narg(seen_cancel_at)
    AND stopped_at IS NOT DISTINCT FROM sqlc.narg(seen_stopped_at)
    AND prepared_at IS NOT DISTINCT FROM sqlc.narg(seen_prepared_at)
    AND result_sha256 IS NOT DISTINCT FROM sqlc.narg(seen_result_sha256)
    AND artifacts = sqlc.arg(seen_artifacts);

-- name: MoveDue :execrows
-- Guard: the due_at that the sender of the next message saw, so that two chains become one. A settled and stopped run
-- needs no further look.
UPDATE runs
SET due_at = sqlc.arg(due_at)
WHERE id = sqlc.arg(id) AND due_at = sqlc.arg(seen_due_at)
    AND (state IN ('PENDING', 'LAUNCHING', 'RUNNING', 'CANCELLING') OR (launch > 0 AND stopped_at IS NULL));

-- name: OldestPending :one
-- The sandboxed run whose turn it is, how many slots are taken, and the clock.
SELECT id, (SELECT count(*) FROM slots) AS taken, clock_timestamp()::timestamptz AS now FROM runs WHERE state = 'PENDING' AND sandboxed ORDER BY created_at, id LIMIT 1;

-- name: PendingAhead :one
-- How many sandboxed runs are admitted before this one.
SELECT count(*) FROM runs
WHERE state = 'PENDING' AND sandboxed
    AND (created_at < sqlc.arg(created_at) OR (created_at = sqlc.arg(created_at) AND id < sqlc.arg(id)));

-- name: OverdueRuns :many
-- Runs whose message was lost: due before a moment and still in need of a look. The predicate is runs_due's.
SELECT id, sandboxed, due_at FROM runs
WHERE due_at < sqlc.arg(due_before)
    AND (state IN ('PENDING', 'LAUNCHING', 'RUNNING', 'CANCELLING') OR (launch > 0 AND stopped_at IS NULL))
ORDER BY due_at LIMIT sqlc.arg(most);

-- name: UnfinishedRuns :many
-- Every run that still needs a look, page by page by id: what a process enqueues that lost its queue.
SELECT id, sandboxed, due_at FROM runs
WHERE (state IN ('PENDING', 'LAUNCHING', 'RUNNING', 'CANCELLING') OR (launch > 0 AND stopped_at IS NULL))
    AND id > sqlc.arg(after_id)
ORDER BY id LIMIT sqlc.arg(most);

-- name: LastCompletedRun :one
-- The attempt whose patch and transcript the next one continues.
SELECT * FROM runs WHERE task_id = sqlc.arg(task_id) AND state = 'COMPLETED' AND attempt < sqlc.arg(before_attempt)
ORDER BY attempt DESC LIMIT 1;

-- name: RunsOfTask :many
-- Oldest first. The content is cut: a page of whole ones could be hundreds of megabytes.
SELECT id, task_id, product_id, attempt, session_id, user_id, started_by, executor_type, executor_id, sandboxed, state,
    input_key, input_sha256, source_id, checkout, due_at, start_until, run_until, stop_grace_ms, launch,
    NULL::text AS launch_token, NULL::text AS launch_hash, token_until, calling_until, sandbox_handle, claimed_by,
    claimed_at, NULL::text AS session_hash, lease_until, cancel_at, prepared_at, stopped_at, stop_reason, event_batches,
    event_seq, result_key, result_sha256, left(content, sqlc.arg(most_content))::text AS content, content_type, ended,
    usage, artifacts, sandbox, waiting_reason, waiting_since, ended_at, created_at, updated_at
FROM runs WHERE task_id = sqlc.arg(task_id) ORDER BY attempt LIMIT sqlc.arg(most) OFFSET sqlc.arg(skip);

-- name: EndLeases :exec
-- Of plain runs whose worker is known to be dead.
UPDATE runs SET lease_until = sqlc.arg(now)
WHERE state IN ('RUNNING', 'CANCELLING') AND NOT sandboxed AND lease_until > sqlc.arg(now);

-- name: EndCalls :exec
-- Of launches whose caller is known to be dead.
UPDATE runs SET calling_until = sqlc.arg(now)
WHERE state = 'LAUNCHING' AND calling_until > sqlc.arg(now);
