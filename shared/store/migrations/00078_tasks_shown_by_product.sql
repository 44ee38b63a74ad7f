-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX tasks_shown_by_product ON tasks (product_id, created_at, id) WHERE archived_at IS NULL;
