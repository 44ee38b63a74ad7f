-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX runs_pending ON runs (created_at, id) WHERE state = 'PENDING';
