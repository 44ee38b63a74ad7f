-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE counts (
    kind       text NOT NULL CHECK (kind IN ('product', 'project', 'task')),
    product_id text NOT NULL,
    project_id text NOT NULL,
    status     text NOT NULL,
    failed     boolean NOT NULL,
    archived   boolean NOT NULL,
    n          bigint NOT NULL,
    PRIMARY KEY (kind, product_id, project_id, status, failed, archived)
);
