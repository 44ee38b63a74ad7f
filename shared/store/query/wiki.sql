-- name: WikiPage :one
-- The present version of a page.
SELECT namespace, path, version, size_bytes, content, user_id, updated_at
FROM wiki_pages
WHERE namespace = sqlc.arg(namespace) AND path = sqlc.arg(path);

-- name: WikiVersion :one
-- The present version's number of a page, which a writer has to know.
SELECT version FROM wiki_pages WHERE namespace = sqlc.arg(namespace) AND path = sqlc.arg(path);

-- name: InsertWikiPage :execrows
-- Guard: no such page yet.
INSERT INTO wiki_pages (namespace, path, version, size_bytes, content, user_id, updated_at)
VALUES (sqlc.arg(namespace), sqlc.arg(path), 1, sqlc.arg(size_bytes), sqlc.arg(content), sqlc.arg(user_id), sqlc.arg(updated_at))
ON CONFLICT (namespace, path) DO NOTHING;

-- name: UpdateWikiPage :execrows
-- Guard: the version that the writer read.
UPDATE wiki_pages
SET version = version + 1, size_bytes = sqlc.arg(size_bytes), content = sqlc.arg(content), user_id = sqlc.arg(user_id),
    updated_at = sqlc.arg(updated_at)
WHERE namespace = sqlc.arg(namespace) AND path = sqlc.arg(path) AND version = sqlc.arg(version);

-- name: InsertWikiVersion :exec
INSERT INTO wiki_versions (namespace, path, version, content, user_id, created_at)
VALUES (sqlc.arg(namespace), sqlc.arg(path), sqlc.arg(version), sqlc.arg(content), sqlc.arg(user_id), sqlc.arg(created_at))
ON CONFLICT (namespace, path, version) DO NOTHING;
