-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE automation_runs (
    id           text PRIMARY KEY,
    status       text NOT NULL CHECK (status IN ('success', 'failed', 'cancelled')),
    triggered_at timestamptz NOT NULL,
    completed_at timestamptz NOT NULL,
    error        text,
    output       jsonb NOT NULL
);
