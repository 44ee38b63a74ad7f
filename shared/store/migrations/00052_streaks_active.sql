-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX streaks_active ON streaks (triggered_at, id) WHERE active;
