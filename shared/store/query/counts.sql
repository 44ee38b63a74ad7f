-- name: InsertCountDelta :exec
-- Insert-only, so that two writers of one Product never wait for each other.
INSERT INTO count_deltas (id, kind, product_id, project_id, status, failed, archived, n)
VALUES (sqlc.arg(id), sqlc.arg(kind), sqlc.arg(product_id), sqlc.arg(project_id), sqlc.arg(status), sqlc.arg(failed),
    sqlc.arg(archived), sqlc.arg(n));

-- name: TakeCountDeltas :many
-- Deltas to fold, in no particular order. Whoever takes the same ones at the same time begins again.
DELETE FROM count_deltas WHERE id IN (SELECT o.id FROM count_deltas o ORDER BY o.id LIMIT sqlc.arg(most))
RETURNING kind, product_id, project_id, status, failed, archived, n;

-- name: AddToCount :exec
INSERT INTO counts (kind, product_id, project_id, status, failed, archived, n)
VALUES (sqlc.arg(kind), sqlc.arg(product_id), sqlc.arg(project_id), sqlc.arg(status), sqlc.arg(failed),
    sqlc.arg(archived), sqlc.arg(n))
ON CONFLICT (kind, product_id, project_id, status, failed, archived) DO UPDATE SET n = counts.n + EXCLUDED.n;
