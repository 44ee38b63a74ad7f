-- name: Project :one
-- By id, archived or not, with its Product.
SELECT sqlc.embed(j), sqlc.embed(p)
FROM projects j
JOIN products p ON p.id = j.product_id
WHERE j.id = sqlc.arg(id);

-- name: InsertProject :exec
INSERT INTO projects (id, product_id, name, outcome, status, target_date, user_id, transitions, open_id, cascades,
    product_archive, revision, created_at, updated_at, archived_at)
VALUES (sqlc.arg(id), sqlc.arg(product_id), sqlc.arg(name), sqlc.arg(outcome), sqlc.arg(status), sqlc.arg(target_date),
    sqlc.arg(user_id), sqlc.arg(transitions), sqlc.arg(open_id), sqlc.arg(cascades), sqlc.arg(product_archive),
    sqlc.arg(revision), sqlc.arg(created_at), sqlc.arg(updated_at), sqlc.arg(archived_at));

-- name: UpdateProject :execrows
-- Guard: the revision that the writer read. Clearing open_id fails while an open Task refers to it: no Project is done
-- with open Tasks, whoever adds one at the same time.
UPDATE projects
SET name = sqlc.arg(name), outcome = sqlc.arg(outcome), status = sqlc.arg(status), target_date = sqlc.arg(target_date),
    transitions = sqlc.arg(transitions), open_id = sqlc.arg(open_id), cascades = sqlc.arg(cascades),
    product_archive = sqlc.arg(product_archive), revision = revision + 1, updated_at = sqlc.arg(updated_at),
    archived_at = sqlc.arg(archived_at)
WHERE id = sqlc.arg(id) AND revision = sqlc.arg(revision);

-- name: ActiveTasksOfProject :many
-- The Tasks that keep a Project from being archived, archived ones included, by id.
SELECT id, title
FROM tasks
WHERE project_id = sqlc.arg(project_id) AND status IN ('ready', 'in_progress', 'in_review')
ORDER BY id
LIMIT sqlc.arg(max_rows);

-- name: OpenTasksOfProject :many
-- The Tasks that keep a Project from being done, archived ones included.
SELECT id, title
FROM tasks
WHERE project_id = sqlc.arg(project_id) AND status NOT IN ('done', 'cancelled')
ORDER BY created_at, id
LIMIT sqlc.arg(max_rows);
