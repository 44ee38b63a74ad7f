-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX tasks_shown ON tasks (created_at, id) WHERE archived_at IS NULL;
