-- +goose NO TRANSACTION
-- +goose Up
CREATE UNIQUE INDEX tasks_by_session ON tasks (session_id);
