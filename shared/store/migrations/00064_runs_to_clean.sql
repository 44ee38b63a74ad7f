-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX runs_to_clean ON runs (ended_at, id) WHERE ended_at IS NOT NULL AND input_key <> '';
