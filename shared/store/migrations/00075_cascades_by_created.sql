-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX cascades_by_created ON cascades (created_at);
