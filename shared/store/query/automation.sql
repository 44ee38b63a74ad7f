-- name: TakeClaim :one
-- Guard: nobody holds it, or whoever did is overdue by the database's clock. No row: it is held.
INSERT INTO claims (name, holder, claimed_until)
VALUES (sqlc.arg(name), sqlc.arg(holder), clock_timestamp() + sqlc.arg(seconds)::bigint * interval '1 second')
ON CONFLICT (name) DO UPDATE SET holder = EXCLUDED.holder, claimed_until = EXCLUDED.claimed_until
WHERE claims.claimed_until <= clock_timestamp()
RETURNING holder;

-- name: FreeClaim :exec
-- Guard: the holder.
DELETE FROM claims WHERE name = sqlc.arg(name) AND holder = sqlc.arg(holder);

-- name: InsertAutomationRun :exec
INSERT INTO automation_runs (id, status, triggered_at, completed_at, error, output)
VALUES (sqlc.arg(id), sqlc.arg(status), sqlc.arg(triggered_at), sqlc.arg(completed_at), sqlc.narg(error), sqlc.arg(output));

-- name: LatestStreak :one
SELECT * FROM streaks WHERE task_id = sqlc.arg(task_id) ORDER BY triggered_at DESC, id DESC LIMIT 1;

-- name: InsertStreak :exec
INSERT INTO streaks (id, task_id, product_id, reason, count, task_revision, active, triggered_at, completed_at)
VALUES (sqlc.arg(id), sqlc.arg(task_id), sqlc.arg(product_id), sqlc.arg(reason), sqlc.arg(count), sqlc.arg(task_revision),
    sqlc.arg(active), sqlc.arg(triggered_at), sqlc.arg(completed_at));

-- name: CountStreak :execrows
-- Guard: the count that the writer saw, and that nobody ended it.
UPDATE streaks SET count = sqlc.arg(count), completed_at = sqlc.arg(completed_at)
WHERE id = sqlc.arg(id) AND count = sqlc.arg(seen_count) AND active;

-- name: EndStreaks :exec
UPDATE streaks SET active = FALSE WHERE task_id = sqlc.arg(task_id) AND active;

-- name: OpenProjectsWithoutOpenTasks :many
-- Active Projects of a Product with a Task and without one that is still work, oldest first.
SELECT sqlc.embed(j), p.cascades AS product_cascades, p.archived_at AS product_archived_at
FROM projects j
JOIN products p ON p.id = j.product_id
WHERE j.product_id = sqlc.arg(product_id) AND j.status = 'active' AND j.archived_at IS NULL AND p.archived_at IS NULL
    AND EXISTS (SELECT 1 FROM tasks t WHERE t.project_id = j.id)
    AND NOT EXISTS (SELECT 1 FROM tasks t WHERE t.open_project_id = j.id)
ORDER BY j.created_at, j.id LIMIT sqlc.arg(most);

-- name: TasksOfProject :many
-- All Tasks of a Project by id, archived ones included, with what its parents' cascades add.
SELECT sqlc.embed(t), p.cascades AS product_cascades, p.archived_at AS product_archived_at,
    j.cascades AS project_cascades, j.archived_at AS project_archived_at, j.status AS project_status
FROM tasks t
JOIN products p ON p.id = t.product_id
JOIN projects j ON j.id = t.project_id
WHERE t.project_id = sqlc.arg(project_id)
ORDER BY t.id LIMIT sqlc.arg(most);

-- name: FinishedProjects :many
-- Projects of a Product that were finished before a moment and are not archived.
SELECT id FROM projects
WHERE product_id = sqlc.arg(product_id) AND status IN ('done', 'cancelled') AND archived_at IS NULL
    AND COALESCE(updated_at, created_at) < sqlc.arg(before)
ORDER BY created_at, id LIMIT sqlc.arg(most);

-- name: FinishedTasks :many
-- The same for Tasks in Projects that are not archived. The predicate is tasks_finished's.
SELECT t.id FROM tasks t
JOIN projects j ON j.id = t.project_id
WHERE t.product_id = sqlc.arg(product_id) AND t.archived_at IS NULL AND t.status IN ('done', 'cancelled')
    AND COALESCE(t.updated_at, t.created_at) < sqlc.arg(before) AND j.archived_at IS NULL
ORDER BY COALESCE(t.updated_at, t.created_at), t.id LIMIT sqlc.arg(most);

-- name: OldPages :many
-- The pages of a namespace that may be generated and were written before a moment.
SELECT namespace, path, version, size_bytes, content, user_id, updated_at
FROM wiki_pages
WHERE namespace = sqlc.arg(namespace) AND (path = 'summary.md' OR path LIKE 'project-completion/%')
    AND updated_at < sqlc.arg(before)
ORDER BY path LIMIT sqlc.arg(most);

-- name: DeleteWikiPage :execrows
-- Guard: the version that the writer read.
DELETE FROM wiki_pages WHERE namespace = sqlc.arg(namespace) AND path = sqlc.arg(path) AND version = sqlc.arg(version);

-- name: DeleteWikiVersions :exec
-- After DeleteWikiPage in the same transaction: a page that is made again starts with version 1.
DELETE FROM wiki_versions WHERE namespace = sqlc.arg(namespace) AND path = sqlc.arg(path);

-- name: Delivery :one
SELECT * FROM deliveries WHERE product_id = sqlc.arg(product_id) AND run_id = sqlc.arg(run_id);

-- name: LatestDelivery :one
SELECT * FROM deliveries WHERE product_id = sqlc.arg(product_id) ORDER BY delivered_at DESC, run_id DESC LIMIT 1;

-- name: InsertDelivery :execrows
INSERT INTO deliveries (product_id, run_id, channel, destination, snapshot, delivered_at)
VALUES (sqlc.arg(product_id), sqlc.arg(run_id), sqlc.arg(channel), sqlc.arg(destination), sqlc.arg(snapshot), sqlc.arg(delivered_at))
ON CONFLICT (product_id, run_id) DO NOTHING;

-- name: DeleteDeliveries :execrows
-- Keeps the latest of every Product: the next summary is compared with it.
DELETE FROM deliveries d WHERE d.delivered_at < sqlc.arg(before) AND EXISTS (
    SELECT 1 FROM deliveries l WHERE l.product_id = d.product_id AND l.delivered_at > d.delivered_at);
