-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX streaks_by_task ON streaks (task_id, triggered_at, id);
