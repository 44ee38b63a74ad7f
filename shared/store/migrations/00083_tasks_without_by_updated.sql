-- +goose NO TRANSACTION
-- +goose Up
-- tasks_shown_by_updated and tasks_all_by_updated are in its place. A planner that has the choice walks past all that is archived.
DROP INDEX IF EXISTS tasks_by_updated;
