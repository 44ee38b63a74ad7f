-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX automation_runs_by_end ON automation_runs (completed_at, id);
