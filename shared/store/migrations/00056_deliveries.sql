-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE deliveries (
    product_id   text NOT NULL,
    run_id       text NOT NULL,
    channel      text NOT NULL,
    destination  text NOT NULL,
    snapshot     jsonb NOT NULL,
    delivered_at timestamptz NOT NULL,
    PRIMARY KEY (product_id, run_id)
);
