-- +goose NO TRANSACTION
-- +goose Up
CREATE VIEW totals AS
SELECT kind, product_id, project_id, status, failed, archived, n FROM counts
UNION ALL
SELECT kind, product_id, project_id, status, failed, archived, n FROM count_deltas;
