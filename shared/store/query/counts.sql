-- name: InsertCountDelta :exec
-- Insert-only, so that two writers of one Product never wait for each other.
INSERT INTO count_deltas (id, kind, product_id, project_id, status, failed, archived, n)
VALUES (sqlc.arg(id), sqlc.arg(kind), sqlc.arg(product_id), sqlc.arg(project_id), sqlc.arg(status), sqlc.arg(failed),
    sqlc.arg(archived), sqlc.arg(n));

-- name: CountDeltas :many
-- The oldest deltas to fold, in no particular order.
SELECT id, kind, product_id, project_id, status, failed, archived, n
FROM count_deltas
ORDER BY id
LIMIT sqlc.arg(max_rows);

-- name: DeleteCountDelta :execrows
DELETE FROM count_deltas WHERE id = sqlc.arg(id);

-- name: AddToCount :exec
INSERT INTO counts (kind, product_id, project_id, status, failed, archived, n)
VALUES (sqlc.arg(kind), sqlc.arg(product_id), sqlc.arg(project_id), sqlc.arg(status), sqlc.arg(failed),
    sqlc.arg(archived), sqlc.arg(n))
ON CONFLICT (kind, product_id, project_id, status, failed, archived) DO UPDATE SET n = counts.n + EXCLUDED.n;
