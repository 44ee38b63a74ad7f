-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE run_events (
    run_id text NOT NULL,
    seq    bigint NOT NULL,
    at     timestamptz NOT NULL,
    type   text NOT NULL,
    body   jsonb NOT NULL,
    PRIMARY KEY (run_id, seq)
);
