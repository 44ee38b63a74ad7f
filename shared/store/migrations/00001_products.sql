-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE products (
    id          text PRIMARY KEY,
    name        text NOT NULL,
    purpose     text,
    user_id     text,
    metadata    jsonb NOT NULL,
    cascades    jsonb NOT NULL,
    revision    bigint NOT NULL,
    created_at  timestamptz NOT NULL,
    updated_at  timestamptz,
    archived_at timestamptz
);
