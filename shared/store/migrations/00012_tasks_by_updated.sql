-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX tasks_by_updated ON tasks (COALESCE(updated_at, created_at), id);
