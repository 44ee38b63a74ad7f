-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX streaks_by_end ON streaks (completed_at, id);
