-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX tasks_by_product ON tasks (product_id, created_at, id);
