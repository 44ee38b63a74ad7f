-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE claims (
    name          text PRIMARY KEY,
    holder        text NOT NULL,
    claimed_until timestamptz NOT NULL
);
