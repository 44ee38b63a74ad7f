-- name: TakeEventSeqs :one
-- Reserves n sequence numbers and returns the last. The run's row is the lock: its events are gap-free.
UPDATE runs SET event_seq = event_seq + sqlc.arg(n)::bigint WHERE id = sqlc.arg(run_id) RETURNING event_seq;

-- name: InsertEvent :batchexec
INSERT INTO run_events (run_id, seq, at, type, body)
VALUES (sqlc.arg(run_id), sqlc.arg(seq), sqlc.arg(at), sqlc.arg(type), sqlc.arg(body));

-- name: EventsAfter :many
SELECT run_id, seq, at, type, body FROM run_events
WHERE run_id = sqlc.arg(run_id) AND seq > sqlc.arg(after) ORDER BY seq LIMIT sqlc.arg(most);
