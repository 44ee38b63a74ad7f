-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX sources_by_product ON sources (product_id, created_at, id);
