-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX tasks_shown_by_product_updated ON tasks (product_id, COALESCE(updated_at, created_at), id) WHERE archived_at IS NULL;
