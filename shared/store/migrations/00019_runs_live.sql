-- +goose NO TRANSACTION
-- +goose Up
CREATE UNIQUE INDEX runs_live ON runs (task_id) WHERE state IN ('PENDING', 'LAUNCHING', 'RUNNING', 'CANCELLING');
