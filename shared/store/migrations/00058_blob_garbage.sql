-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE blob_garbage (
    key        text PRIMARY KEY,
    created_at timestamptz NOT NULL
);
