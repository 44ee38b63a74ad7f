-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE routine_runs (
    id           text PRIMARY KEY,
    routine_id   text NOT NULL REFERENCES routines (id),
    product_id   text NOT NULL,
    user_id      text,
    status       text NOT NULL CHECK (status IN ('running', 'success', 'failed', 'skipped', 'cancelled')),
    run_id       text UNIQUE,
    session_id   text,
    message      text NOT NULL,
    authority    jsonb NOT NULL,
    claimed_by   text,
    lease_until  timestamptz,
    start_until  timestamptz NOT NULL,
    triggered_at timestamptz NOT NULL,
    completed_at timestamptz,
    error        text,
    output       jsonb,
    CHECK ((completed_at IS NULL) = (status = 'running'))
);
