-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX projects_by_product ON projects (product_id, created_at, id);
