-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX tasks_by_failed ON tasks (created_at, id) WHERE failed;
