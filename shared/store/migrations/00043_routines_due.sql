-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX routines_due ON routines (next_run_at, id) WHERE enabled AND next_run_at IS NOT NULL;
