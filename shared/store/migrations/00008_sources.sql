-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE sources (
    id             text PRIMARY KEY,
    product_id     text NOT NULL REFERENCES products (id),
    type           text NOT NULL CHECK (type IN ('git', 'markdown', 'website')),
    reference      text NOT NULL,
    credential_ref text,
    config         jsonb NOT NULL,
    user_id        text,
    revision       bigint NOT NULL,
    created_at     timestamptz NOT NULL,
    updated_at     timestamptz,
    archived_at    timestamptz
);
