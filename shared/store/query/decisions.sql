-- name: InsertDecision :exec
-- Append-only: no statement changes or removes a decision.
INSERT INTO decisions (id, decision, reasoning, context, outcome, user_id, agent_id, session_id, created_at)
VALUES (sqlc.arg(id), sqlc.arg(decision), sqlc.arg(reasoning), sqlc.arg(context), sqlc.arg(outcome), sqlc.arg(user_id),
    sqlc.arg(agent_id), sqlc.arg(session_id), sqlc.arg(created_at));
