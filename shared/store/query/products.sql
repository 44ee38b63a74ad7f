-- name: Product :one
-- By id, archived or not.
SELECT id, name, purpose, user_id, metadata, cascades, revision, created_at, updated_at, archived_at
FROM products
WHERE id = sqlc.arg(id);

-- name: HasProducts :one
-- Archived ones count too.
SELECT EXISTS (SELECT 1 FROM products);

-- name: InsertProduct :exec
INSERT INTO products (id, name, purpose, user_id, metadata, cascades, revision, created_at, updated_at, archived_at)
VALUES (sqlc.arg(id), sqlc.arg(name), sqlc.arg(purpose), sqlc.arg(user_id), sqlc.arg(metadata), sqlc.arg(cascades),
    sqlc.arg(revision), sqlc.arg(created_at), sqlc.arg(updated_at), sqlc.arg(archived_at));

-- name: UpdateProduct :execrows
-- Guard: the revision that the writer read.
UPDATE products
SET name = sqlc.arg(name), purpose = sqlc.arg(purpose), metadata = sqlc.arg(metadata), cascades = sqlc.arg(cascades),
    revision = revision + 1, updated_at = sqlc.arg(updated_at), archived_at = sqlc.arg(archived_at)
WHERE id = sqlc.arg(id) AND revision = sqlc.arg(revision);

-- name: ActiveTasksOfProduct :many
-- The Tasks that keep a Product from being archived, archived ones included, by id.
SELECT id, title
FROM tasks
WHERE product_id = sqlc.arg(product_id) AND status IN ('ready', 'in_progress', 'in_review')
ORDER BY id
LIMIT sqlc.arg(max_rows);
