-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX tasks_by_status ON tasks (status, created_at, id);
