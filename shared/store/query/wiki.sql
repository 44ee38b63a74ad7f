-- name: WikiPages :many
-- All pages of the Company and of one Product: the Company's first, by path.
SELECT namespace, path, version, size_bytes, content, user_id, updated_at
FROM wiki_pages
WHERE namespace IN ('company', sqlc.arg(product_id)::text)
ORDER BY (namespace <> 'company'), path;

-- name: InsertWikiPage :execrows
-- Guard: no such page yet.
INSERT INTO wiki_pages (namespace, path, version, size_bytes, content, user_id, updated_at)
VALUES (sqlc.arg(namespace), sqlc.arg(path), 1, sqlc.arg(size_bytes), sqlc.arg(content), sqlc.arg(user_id), sqlc.arg(updated_at))
ON CONFLICT (namespace, path) DO NOTHING;

-- name: InsertWikiVersion :exec
INSERT INTO wiki_versions (namespace, path, version, content, user_id, created_at)
VALUES (sqlc.arg(namespace), sqlc.arg(path), sqlc.arg(version), sqlc.arg(content), sqlc.arg(user_id), sqlc.arg(created_at))
ON CONFLICT (namespace, path, version) DO NOTHING;
