-- name: Task :one
-- By id, archived or not, with what its parents' cascades add to it.
SELECT sqlc.embed(t), p.cascades AS product_cascades, p.archived_at AS product_archived_at,
    j.cascades AS project_cascades, j.archived_at AS project_archived_at, j.status AS project_status
FROM tasks t
JOIN products p ON p.id = t.product_id
JOIN projects j ON j.id = t.project_id
WHERE t.id = sqlc.arg(id);

-- name: InsertTask :exec
INSERT INTO tasks (id, product_id, project_id, open_project_id, title, brief, evidence, origin, routine_id, dedupe_key,
    status, user_id, transitions, executor_type, executor_id, accepted_by, accepted_at, session_id, job_id, live_run_id,
    checkout, result, failed, product_archive, project_archive, revision, created_at, updated_at, archived_at)
VALUES (sqlc.arg(id), sqlc.arg(product_id), sqlc.arg(project_id), sqlc.arg(open_project_id), sqlc.arg(title),
    sqlc.arg(brief), sqlc.arg(evidence), sqlc.arg(origin), sqlc.arg(routine_id), sqlc.arg(dedupe_key), sqlc.arg(status),
    sqlc.arg(user_id), sqlc.arg(transitions), sqlc.arg(executor_type), sqlc.arg(executor_id), sqlc.arg(accepted_by),
    sqlc.arg(accepted_at), sqlc.arg(session_id), sqlc.arg(job_id), sqlc.arg(live_run_id), sqlc.arg(checkout),
    sqlc.arg(result), sqlc.arg(failed), sqlc.arg(product_archive), sqlc.arg(project_archive), sqlc.arg(revision),
    sqlc.arg(created_at), sqlc.arg(updated_at), sqlc.arg(archived_at));

-- name: UpdateTask :execrows
-- Guard: the revision that the writer read.
UPDATE tasks
SET project_id = sqlc.arg(project_id), open_project_id = sqlc.arg(open_project_id), title = sqlc.arg(title),
    brief = sqlc.arg(brief), evidence = sqlc.arg(evidence), status = sqlc.arg(status),
    transitions = sqlc.arg(transitions), executor_type = sqlc.arg(executor_type), executor_id = sqlc.arg(executor_id),
    accepted_by = sqlc.arg(accepted_by), accepted_at = sqlc.arg(accepted_at), job_id = sqlc.arg(job_id),
    live_run_id = sqlc.arg(live_run_id), checkout = sqlc.arg(checkout), result = sqlc.arg(result),
    failed = sqlc.arg(failed), product_archive = sqlc.arg(product_archive), project_archive = sqlc.arg(project_archive),
    revision = revision + 1, updated_at = sqlc.arg(updated_at), archived_at = sqlc.arg(archived_at)
WHERE id = sqlc.arg(id) AND revision = sqlc.arg(revision);

-- name: TaskByDedupeKey :one
-- As Task, by the key of a proposal.
SELECT sqlc.embed(t), p.cascades AS product_cascades, p.archived_at AS product_archived_at,
    j.cascades AS project_cascades, j.archived_at AS project_archived_at, j.status AS project_status
FROM tasks t
JOIN products p ON p.id = t.product_id
JOIN projects j ON j.id = t.project_id
WHERE t.product_id = sqlc.arg(product_id) AND t.dedupe_key = sqlc.arg(dedupe_key);
