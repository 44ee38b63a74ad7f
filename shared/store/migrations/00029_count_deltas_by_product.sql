-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX count_deltas_by_product ON count_deltas (kind, product_id);
