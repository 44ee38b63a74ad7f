-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE cascades (
    parent     text NOT NULL CHECK (parent IN ('product', 'project')),
    parent_id  text NOT NULL,
    child      text NOT NULL CHECK (child IN ('project', 'task')),
    after_at   timestamptz,
    after_id   text,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (parent, parent_id, child)
);
