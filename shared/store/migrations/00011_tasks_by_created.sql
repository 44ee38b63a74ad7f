-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX tasks_by_created ON tasks (created_at, id);
