-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX routine_runs_live ON routine_runs (triggered_at, id) WHERE status = 'running';
