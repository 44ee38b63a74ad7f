-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX routines_by_created ON routines (created_at, id);
