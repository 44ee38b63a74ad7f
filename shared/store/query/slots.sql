-- name: TakenSlots :many
SELECT slot FROM slots ORDER BY slot;

-- name: TakeSlot :exec
-- Guard: the primary key and the unique run_id; a violation is a lost race and is repeated.
INSERT INTO slots (slot, run_id, taken_at) VALUES (sqlc.arg(slot), sqlc.arg(run_id), sqlc.arg(taken_at));

-- name: FreeSlot :execrows
DELETE FROM slots WHERE run_id = sqlc.arg(run_id);
