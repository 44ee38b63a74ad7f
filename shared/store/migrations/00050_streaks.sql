-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE streaks (
    id            text PRIMARY KEY,
    task_id       text NOT NULL REFERENCES tasks (id),
    product_id    text NOT NULL,
    reason        text NOT NULL,
    count         bigint NOT NULL,
    task_revision bigint NOT NULL,
    active        boolean NOT NULL,
    triggered_at  timestamptz NOT NULL,
    completed_at  timestamptz NOT NULL
);
