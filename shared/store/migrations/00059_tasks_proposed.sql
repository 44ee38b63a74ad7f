-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX tasks_proposed ON tasks (routine_id, created_at, id) WHERE status = 'backlog' AND origin = 'routine' AND archived_at IS NULL
    AND NOT transitions @> '[{"target": "ready"}]';
