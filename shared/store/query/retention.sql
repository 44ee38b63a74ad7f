-- name: DeleteAutomationRuns :execrows
-- One batch, oldest first.
DELETE FROM automation_runs WHERE id IN (
    SELECT o.id FROM automation_runs o WHERE o.completed_at < sqlc.arg(before) ORDER BY o.completed_at, o.id LIMIT sqlc.arg(most));

-- name: CountAutomationRuns :one
SELECT count(*) FROM automation_runs WHERE completed_at < sqlc.arg(before);

-- name: DeleteStreaks :execrows
-- One batch.
DELETE FROM streaks WHERE id IN (
    SELECT o.id FROM streaks o WHERE o.completed_at < sqlc.arg(before) ORDER BY o.completed_at, o.id LIMIT sqlc.arg(most));

-- name: CountStreaks :one
SELECT count(*) FROM streaks WHERE completed_at < sqlc.arg(before);

-- name: RunsToClean :many
-- Runs that ended before a moment, after a place in that order, and the status of their Task. Only what has stopped. The
-- predicate is runs_to_clean's.
SELECT r.id, r.ended_at, r.input_key, r.artifacts, r.event_seq, t.status AS task_status, t.live_run_id
FROM runs r
JOIN tasks t ON t.id = r.task_id
WHERE r.ended_at IS NOT NULL AND r.input_key <> '' AND r.ended_at < sqlc.arg(before)
    AND (r.ended_at > sqlc.arg(after_at) OR (r.ended_at = sqlc.arg(after_at) AND r.id > sqlc.arg(after_id)))
    AND (r.launch = 0 OR r.stopped_at IS NOT NULL)
ORDER BY r.ended_at, r.id LIMIT sqlc.arg(most);

-- name: FirstEvent :one
SELECT COALESCE(min(seq), 0)::bigint FROM run_events WHERE run_id = sqlc.arg(run_id);

-- name: DeleteEvents :execrows
DELETE FROM run_events WHERE run_id = sqlc.arg(run_id) AND seq <= sqlc.arg(upto);

-- name: ForgetArtifacts :execrows
-- Guard: ended, and its Task is neither accepted nor under review. After it nothing refers to the blobs.
UPDATE runs SET artifacts = '[]', input_key = ''
WHERE runs.id = sqlc.arg(id) AND runs.ended_at IS NOT NULL AND runs.input_key <> '' AND EXISTS (
    SELECT 1 FROM tasks t WHERE t.id = runs.task_id AND t.status IN ('done', 'cancelled') AND t.live_run_id IS NULL);

-- name: InsertGarbage :exec
INSERT INTO blob_garbage (key, created_at) VALUES (sqlc.arg(key), sqlc.arg(created_at)) ON CONFLICT (key) DO NOTHING;

-- name: Garbage :many
-- created_at is when nothing can refer to the blob again.
SELECT key FROM blob_garbage WHERE created_at <= sqlc.arg(now) ORDER BY key LIMIT sqlc.arg(most);

-- name: DeleteGarbage :exec
DELETE FROM blob_garbage WHERE key = sqlc.arg(key);
