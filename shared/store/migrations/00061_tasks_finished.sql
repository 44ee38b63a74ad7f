-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX tasks_finished ON tasks (product_id, COALESCE(updated_at, created_at), id) WHERE archived_at IS NULL AND status IN ('done', 'cancelled');
