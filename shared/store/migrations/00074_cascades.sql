-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE cascades (
    parent       text NOT NULL CHECK (parent IN ('product', 'project')),
    id           text NOT NULL,
    kind         text NOT NULL CHECK (kind IN ('project', 'task')),
    after_at     timestamptz,
    after_id     text,
    created_at   timestamptz NOT NULL,
    PRIMARY KEY (parent, id, kind)
);
