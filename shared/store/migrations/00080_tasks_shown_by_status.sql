-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX tasks_shown_by_status ON tasks (status, created_at, id) WHERE archived_at IS NULL;
