-- name: IdempotentAnswer :one
SELECT request, status, answer FROM idempotency_keys WHERE user_id = sqlc.arg(user_id) AND key = sqlc.arg(key);

-- name: InsertIdempotentAnswer :execrows
-- Guard: the first request with a key wins.
INSERT INTO idempotency_keys (user_id, key, request, status, answer, created_at)
VALUES (sqlc.arg(user_id), sqlc.arg(key), sqlc.arg(request), sqlc.arg(status), sqlc.arg(answer), sqlc.arg(created_at))
ON CONFLICT (user_id, key) DO NOTHING;

-- name: DeleteIdempotentAnswers :execrows
DELETE FROM idempotency_keys WHERE (user_id, key) IN (
    SELECT k.user_id, k.key FROM idempotency_keys k WHERE k.created_at < sqlc.arg(created_before) ORDER BY k.created_at LIMIT sqlc.arg(most));
