-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX idempotency_keys_by_created ON idempotency_keys (created_at);
