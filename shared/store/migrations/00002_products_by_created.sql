-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX products_by_created ON products (created_at, id);
