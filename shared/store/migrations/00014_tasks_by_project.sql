-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX tasks_by_project ON tasks (project_id, created_at, id);
