-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX routines_by_product ON routines (product_id, created_at, id);
