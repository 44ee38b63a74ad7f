-- name: Routine :one
SELECT * FROM routines WHERE id = sqlc.arg(id);

-- name: RoutineInPlace :one
-- With its Product, which may be archived.
SELECT sqlc.embed(r), sqlc.embed(p)
FROM routines r
JOIN products p ON p.id = r.product_id
WHERE r.id = sqlc.arg(id);

-- name: InsertRoutine :exec
-- Guard: the unique name of its creator.
INSERT INTO routines (id, product_id, user_id, name, template, executor_type, executor_id, instructions, cron_expr, timezone,
    enabled, disabled_reason, next_run_at, policy, fingerprint, policy_ends_at, budget, granted_by,
    authority, live_run_id, last_run, revision, created_at, updated_at)
VALUES (sqlc.arg(id), sqlc.arg(product_id), sqlc.arg(user_id), sqlc.arg(name), sqlc.narg(template), sqlc.arg(executor_type),
    sqlc.arg(executor_id), sqlc.arg(instructions), sqlc.narg(cron_expr), sqlc.arg(timezone), sqlc.arg(enabled),
    sqlc.narg(disabled_reason), sqlc.narg(next_run_at), sqlc.narg(policy), sqlc.narg(fingerprint),
    sqlc.narg(policy_ends_at), sqlc.narg(budget), sqlc.narg(granted_by), sqlc.arg(authority),
    sqlc.narg(live_run_id), sqlc.narg(last_run), sqlc.arg(revision), sqlc.arg(created_at), sqlc.arg(updated_at));

-- name: UpdateRoutine :execrows
-- Guard: the revision that the writer read. Every automatic acceptance writes this row too, so that two at once cannot
-- both spend the last of a budget.
UPDATE routines
SET name = sqlc.arg(name), executor_type = sqlc.arg(executor_type), executor_id = sqlc.arg(executor_id),
    instructions = sqlc.arg(instructions), cron_expr = sqlc.narg(cron_expr), timezone = sqlc.arg(timezone),
    enabled = sqlc.arg(enabled), disabled_reason = sqlc.narg(disabled_reason), next_run_at = sqlc.narg(next_run_at),
    policy = sqlc.narg(policy), fingerprint = sqlc.narg(fingerprint),
    policy_ends_at = sqlc.narg(policy_ends_at), budget = sqlc.narg(budget), granted_by = sqlc.narg(granted_by), authority = sqlc.arg(authority),
    live_run_id = sqlc.narg(live_run_id), last_run = sqlc.narg(last_run), revision = revision + 1, updated_at = sqlc.arg(updated_at)
WHERE id = sqlc.arg(id) AND revision = sqlc.arg(revision);

-- name: DueRoutines :many
-- The ids of Routines whose time has come by the database's clock, longest overdue first. The predicate is routines_due's.
SELECT id FROM routines
WHERE enabled AND next_run_at IS NOT NULL AND next_run_at <= clock_timestamp()
ORDER BY next_run_at, id LIMIT sqlc.arg(most);

-- name: UpcomingRoutines :many
-- The Routines whose time comes before a moment and has not come yet, soonest first. The predicate is routines_due's.
SELECT id, next_run_at FROM routines
WHERE enabled AND next_run_at IS NOT NULL AND next_run_at > clock_timestamp() AND next_run_at < sqlc.arg(before)
ORDER BY next_run_at, id LIMIT sqlc.arg(most);

-- name: InsertRoutineRun :exec
INSERT INTO routine_runs (id, routine_id, product_id, user_id, status, run_id, session_id, message, authority, claimed_by,
    lease_until, start_until, triggered_at, completed_at, error, output)
VALUES (sqlc.arg(id), sqlc.arg(routine_id), sqlc.arg(product_id), sqlc.narg(user_id), sqlc.arg(status), sqlc.narg(run_id),
    sqlc.narg(session_id), sqlc.arg(message), sqlc.arg(authority), sqlc.narg(claimed_by), sqlc.narg(lease_until),
    sqlc.arg(start_until), sqlc.arg(triggered_at), sqlc.narg(completed_at), sqlc.narg(error), sqlc.narg(output));

-- name: UpdateRoutineRun :execrows
-- Guard: running, and the worker that holds it as the writer saw.
UPDATE routine_runs
SET status = sqlc.arg(status), claimed_by = sqlc.narg(claimed_by), lease_until = sqlc.narg(lease_until),
    completed_at = sqlc.narg(completed_at), error = sqlc.narg(error), output = sqlc.narg(output)
WHERE id = sqlc.arg(id) AND status = 'running' AND claimed_by IS NOT DISTINCT FROM sqlc.narg(seen_claimed_by);

-- name: RoutineRun :one
SELECT * FROM routine_runs WHERE run_id = sqlc.arg(run_id);

-- name: RoutineRuns :many
-- Newest first.
SELECT * FROM routine_runs WHERE routine_id = sqlc.arg(routine_id)
ORDER BY triggered_at DESC, id DESC LIMIT sqlc.arg(most) OFFSET sqlc.arg(skip);

-- name: CountRoutineRuns :one
SELECT count(*) FROM routine_runs WHERE routine_id = sqlc.arg(routine_id);

-- name: RunningRoutineRuns :many
-- Those that nobody works on and those whose worker is overdue, oldest first. The predicate is routine_runs_live's.
SELECT * FROM routine_runs
WHERE status = 'running' AND triggered_at < sqlc.arg(triggered_before) AND (lease_until IS NULL OR lease_until <= clock_timestamp())
ORDER BY triggered_at, id LIMIT sqlc.arg(most);

-- name: InsertAcceptance :execrows
-- One row for one record and policy, however often it is accepted.
INSERT INTO acceptances (routine_id, policy, record_id, accepted_at)
VALUES (sqlc.arg(routine_id), sqlc.arg(policy), sqlc.arg(record_id), sqlc.arg(accepted_at))
ON CONFLICT (routine_id, policy, record_id) DO NOTHING;

-- name: CountAcceptances :one
-- What a policy has accepted, without the record that is asked about.
SELECT count(*) FROM acceptances
WHERE routine_id = sqlc.arg(routine_id) AND policy = sqlc.arg(policy) AND record_id <> sqlc.arg(record_id);

-- name: EndRoutineLeases :exec
-- Of runs whose worker is known to be dead.
UPDATE routine_runs SET lease_until = sqlc.arg(now) WHERE status = 'running' AND lease_until > sqlc.arg(now);
