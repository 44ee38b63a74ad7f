-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX routine_runs_by_routine ON routine_runs (routine_id, triggered_at, id);
