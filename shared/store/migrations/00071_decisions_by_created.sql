-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX decisions_by_created ON decisions (created_at, id);
