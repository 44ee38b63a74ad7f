-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX tasks_shown_by_updated ON tasks (COALESCE(updated_at, created_at), id) WHERE archived_at IS NULL;
