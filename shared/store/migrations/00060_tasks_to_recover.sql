-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX tasks_to_recover ON tasks (created_at, id) WHERE status = 'in_progress' AND result IS NULL AND archived_at IS NULL;
