-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE wiki_pages (
    namespace  text NOT NULL,
    path       text NOT NULL,
    version    integer NOT NULL,
    size_bytes integer NOT NULL,
    content    text NOT NULL,
    user_id    text,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (namespace, path)
);
