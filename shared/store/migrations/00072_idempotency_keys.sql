-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE idempotency_keys (
    user_id    text NOT NULL,
    key        text NOT NULL,
    request    text NOT NULL,
    status     integer NOT NULL,
    answer     text NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (user_id, key)
);
