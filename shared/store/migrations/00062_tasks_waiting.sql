-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX tasks_waiting ON tasks (COALESCE(updated_at, created_at), id) WHERE archived_at IS NULL AND (status IN ('backlog', 'in_review') OR failed);
