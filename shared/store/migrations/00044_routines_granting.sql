-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX routines_granting ON routines (created_at, id) WHERE enabled AND policy IS NOT NULL;
