-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE routines (
    id              text PRIMARY KEY,
    product_id      text NOT NULL REFERENCES products (id),
    user_id         text NOT NULL,
    name            text NOT NULL,
    template        text CHECK (template IN ('refresh', 'intake', 'summary')),
    executor_type   text NOT NULL CHECK (executor_type IN ('agent', 'team', 'workflow')),
    executor_id     text NOT NULL,
    instructions    text NOT NULL,
    cron_expr       text,
    timezone        text NOT NULL,
    enabled         boolean NOT NULL,
    disabled_reason text,
    next_run_at     timestamptz,
    policy          jsonb,
    fingerprint     text,
    policy_ends_at  timestamptz,
    budget          bigint,
    granted_by      jsonb,
    authority       jsonb NOT NULL,
    live_run_id     text,
    last_run        jsonb,
    revision        bigint NOT NULL,
    created_at      timestamptz NOT NULL,
    updated_at      timestamptz NOT NULL,
    UNIQUE (user_id, name)
);
