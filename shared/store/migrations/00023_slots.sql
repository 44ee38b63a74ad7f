-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE slots (
    slot     integer PRIMARY KEY,
    run_id   text NOT NULL UNIQUE,
    taken_at timestamptz NOT NULL
);
