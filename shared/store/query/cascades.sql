-- name: AnnounceCascade :exec
-- In the transaction that archives or restores a parent: its children begin again from the first.
INSERT INTO cascades (parent, parent_id, child, after_at, after_id, created_at)
VALUES (sqlc.arg(parent), sqlc.arg(parent_id), sqlc.arg(child), NULL, NULL, sqlc.arg(created_at))
ON CONFLICT (parent, parent_id, child) DO UPDATE SET after_at = NULL, after_id = NULL, created_at = EXCLUDED.created_at;

-- name: OldestCascade :one
SELECT parent, parent_id, child, after_at, after_id, created_at FROM cascades
WHERE created_at < sqlc.arg(announced_before) ORDER BY created_at, parent_id, child LIMIT 1;

-- name: MoveCascade :execrows
-- Guard: the place and the announcement as seen, so that two sweeps, or a sweep and a parent that changes, do not both go on.
UPDATE cascades SET after_at = sqlc.arg(after_at), after_id = sqlc.arg(after_id)
WHERE parent = sqlc.arg(parent) AND parent_id = sqlc.arg(parent_id) AND child = sqlc.arg(child)
    AND created_at = sqlc.arg(created_at) AND after_id IS NOT DISTINCT FROM sqlc.narg(seen_after_id);

-- name: EndCascade :execrows
-- Guard: as MoveCascade.
DELETE FROM cascades
WHERE parent = sqlc.arg(parent) AND parent_id = sqlc.arg(parent_id) AND child = sqlc.arg(child)
    AND created_at = sqlc.arg(created_at) AND after_id IS NOT DISTINCT FROM sqlc.narg(seen_after_id);

-- name: CatchUpTasks :exec
-- Guard: the revision and what the row holds of its parents' cascades as seen. The revision stays: whoever read the Task
-- before saw the same Task, and writes the same. One statement, since a batch is to be short.
UPDATE tasks
SET transitions = c.transitions, product_archive = c.product_archive, project_archive = c.project_archive, updated_at = c.updated_at
FROM jsonb_to_recordset(sqlc.arg(rows)::jsonb) AS c (id text, revision bigint, transitions jsonb, product_archive integer,
    project_archive integer, seen_product_archive integer, seen_project_archive integer, updated_at timestamptz)
WHERE tasks.id = c.id AND tasks.revision = c.revision AND tasks.product_archive = c.seen_product_archive
    AND tasks.project_archive = c.seen_project_archive;

-- name: CatchUpProjects :exec
-- Guard: as CatchUpTasks.
UPDATE projects
SET transitions = c.transitions, product_archive = c.product_archive, updated_at = c.updated_at
FROM jsonb_to_recordset(sqlc.arg(rows)::jsonb) AS c (id text, revision bigint, transitions jsonb, product_archive integer,
    seen_product_archive integer, updated_at timestamptz)
WHERE projects.id = c.id AND projects.revision = c.revision AND projects.product_archive = c.seen_product_archive;
