-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE wiki_versions (
    namespace  text NOT NULL,
    path       text NOT NULL,
    version    integer NOT NULL,
    content    text NOT NULL,
    user_id    text,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (namespace, path, version)
);
