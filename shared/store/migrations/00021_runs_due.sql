-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX runs_due ON runs (due_at) WHERE state IN ('PENDING', 'LAUNCHING', 'RUNNING', 'CANCELLING') OR (launch > 0 AND stopped_at IS NULL);
