-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE decisions (
    id         text PRIMARY KEY,
    decision   text NOT NULL,
    reasoning  text,
    context    text,
    outcome    text,
    user_id    text,
    agent_id   text,
    session_id text,
    created_at timestamptz NOT NULL
);
