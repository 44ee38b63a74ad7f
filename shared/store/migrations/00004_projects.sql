-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE projects (
    id              text PRIMARY KEY,
    product_id      text NOT NULL REFERENCES products (id),
    name            text NOT NULL,
    outcome         text,
    status          text NOT NULL CHECK (status IN ('proposed', 'active', 'done', 'cancelled')),
    target_date     bigint,
    user_id         text,
    transitions     jsonb NOT NULL,
    open_id         text UNIQUE CHECK (open_id = id),
    cascades        jsonb NOT NULL,
    product_archive integer NOT NULL,
    revision        bigint NOT NULL,
    created_at      timestamptz NOT NULL,
    updated_at      timestamptz,
    archived_at     timestamptz,
    CHECK ((open_id IS NOT NULL) = (status IN ('proposed', 'active')))
);
