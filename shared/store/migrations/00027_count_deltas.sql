-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE count_deltas (
    id         uuid PRIMARY KEY,
    kind       text NOT NULL CHECK (kind IN ('product', 'project', 'task')),
    product_id text NOT NULL,
    project_id text NOT NULL,
    status     text NOT NULL,
    failed     boolean NOT NULL,
    archived   boolean NOT NULL,
    n          bigint NOT NULL
);
