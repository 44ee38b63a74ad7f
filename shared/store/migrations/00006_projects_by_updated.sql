-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX projects_by_updated ON projects (COALESCE(updated_at, created_at), id);
