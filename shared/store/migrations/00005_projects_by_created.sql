-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX projects_by_created ON projects (created_at, id);
