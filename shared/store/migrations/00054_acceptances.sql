-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE acceptances (
    routine_id  text NOT NULL,
    policy      text NOT NULL,
    record_id   text NOT NULL,
    accepted_at timestamptz NOT NULL,
    PRIMARY KEY (routine_id, policy, record_id)
);
