-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX tasks_all_by_updated ON tasks (COALESCE(updated_at, created_at, archived_at), id);
