-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX products_by_updated ON products (COALESCE(updated_at, created_at), id);
