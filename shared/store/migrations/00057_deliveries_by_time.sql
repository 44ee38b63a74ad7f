-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX deliveries_by_time ON deliveries (product_id, delivered_at);
