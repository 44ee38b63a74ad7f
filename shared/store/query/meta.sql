-- name: DatabaseClock :one
-- The clock that deadlines are compared with.
SELECT clock_timestamp()::timestamptz AS now;
