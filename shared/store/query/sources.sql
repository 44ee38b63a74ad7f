-- name: Source :one
-- By id, archived or not, with when its Product was archived.
SELECT sqlc.embed(s), p.archived_at AS product_archived_at
FROM sources s
JOIN products p ON p.id = s.product_id
WHERE s.id = sqlc.arg(id);

-- name: InsertSource :exec
INSERT INTO sources (id, product_id, type, reference, credential_ref, config, user_id, revision, created_at, updated_at, archived_at)
VALUES (sqlc.arg(id), sqlc.arg(product_id), sqlc.arg(type), sqlc.arg(reference), sqlc.arg(credential_ref),
    sqlc.arg(config), sqlc.arg(user_id), sqlc.arg(revision), sqlc.arg(created_at), sqlc.arg(updated_at), sqlc.arg(archived_at));

-- name: ArchiveSource :execrows
-- Guard: the revision that the writer read.
UPDATE sources
SET revision = revision + 1, updated_at = sqlc.arg(updated_at), archived_at = sqlc.arg(archived_at)
WHERE id = sqlc.arg(id) AND revision = sqlc.arg(revision);

-- name: GitSources :many
-- The unarchived git Sources of a Product, by id.
SELECT id, product_id, type, reference, credential_ref, config, user_id, revision, created_at, updated_at, archived_at
FROM sources
WHERE product_id = sqlc.arg(product_id) AND type = 'git' AND archived_at IS NULL
ORDER BY id;
