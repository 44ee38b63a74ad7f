-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX tasks_shown_by_status_updated ON tasks (status, COALESCE(updated_at, created_at), id) WHERE archived_at IS NULL;
