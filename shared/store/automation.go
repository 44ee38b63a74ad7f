package store

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"companyos/shared/company"
	"companyos/shared/routine"
	"companyos/shared/store/internal/pgq"
)

// TakeClaim gives an exclusive duty to a holder for a while; false when another has it.
func (db *DB) TakeClaim(ctx context.Context, name, holder string, life time.Duration) (bool, error) {
	_, err := db.single().TakeClaim(ctx, pgq.TakeClaimParams{Name: name, Holder: holder, Seconds: int64(life / time.Second)})
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	return err == nil, unavailable(err)
}

// FreeClaim gives a duty back.
func (db *DB) FreeClaim(ctx context.Context, name, holder string) error {
	return unavailable(db.single().FreeClaim(ctx, pgq.FreeClaimParams{Name: name, Holder: holder}))
}

// WorkRef is a Task that a tick has to look at, and its place in the order.
type WorkRef struct {
	ID        string
	CreatedAt time.Time
}

// tickWork reads what a tick has to look at, oldest first, after a place ($1, $2) in that order: accepted Tasks, reserved
// attempts whose run has ended or is missing, and proposals of Routines that may accept and have budget left. A Task that
// waits for a person or for its run is not read: each branch walks an index that holds none of them.
const tickWork = `SELECT id, created_at FROM (
		(SELECT t.id, t.created_at FROM tasks t
			WHERE t.status = 'ready' AND t.archived_at IS NULL AND (t.created_at, t.id) > ($1::timestamptz, $2::text)
			ORDER BY t.created_at, t.id LIMIT $4)
		UNION ALL
		(SELECT t.id, t.created_at FROM tasks t LEFT JOIN runs r ON r.id = t.job_id
			WHERE t.status = 'in_progress' AND t.result IS NULL AND t.archived_at IS NULL
				AND (r.id IS NULL OR r.state IN ('COMPLETED', 'ERROR', 'CANCELLED')) AND (t.created_at, t.id) > ($1::timestamptz, $2::text)
			ORDER BY t.created_at, t.id LIMIT $4)
		UNION ALL
		(SELECT w.id, w.created_at FROM routines a JOIN products p ON p.id = a.product_id
			CROSS JOIN LATERAL (SELECT t.id, t.created_at FROM tasks t
				WHERE t.routine_id = a.id AND t.status = 'backlog' AND t.origin = 'routine' AND t.archived_at IS NULL
					AND NOT t.transitions @> '[{"target": "ready"}]' AND (t.created_at, t.id) > ($1::timestamptz, $2::text)
				ORDER BY t.created_at, t.id LIMIT $4) w
			WHERE a.enabled AND a.policy IS NOT NULL AND a.policy_ends_at > $3 AND p.archived_at IS NULL
				AND a.budget > (SELECT count(*) FROM acceptances x WHERE x.routine_id = a.id AND x.policy = a.fingerprint))
	) work ORDER BY created_at, id LIMIT $4`

// TickWork returns one batch of what a tick has to look at, after a place in its order.
func (db *DB) TickWork(ctx context.Context, after WorkRef, now time.Time, most int) ([]WorkRef, error) {
	rows, err := db.pool.Query(ctx, tickWork, after.CreatedAt, after.ID, now, most)
	if err != nil {
		return nil, unavailable(err)
	}
	work, err := pgx.CollectRows(rows, pgx.RowToStructByPos[WorkRef])
	return work, unavailable(err)
}

// CompletionRoutines returns the Routines that may complete Projects, oldest first.
func (db *DB) CompletionRoutines(ctx context.Context, now time.Time) ([]routine.Routine, error) {
	rows, err := db.pool.Query(ctx, "SELECT "+routineList.columns+` FROM routines r JOIN products p ON p.id = r.product_id
		WHERE r.enabled AND r.policy IS NOT NULL AND r.template = 'refresh' AND r.policy -> 'complete_projects' = 'true'
			AND r.policy_ends_at > $1 AND p.archived_at IS NULL
		ORDER BY r.created_at, r.id LIMIT 1000`, now)
	if err != nil {
		return nil, unavailable(err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[pgq.Routine])
	if err != nil {
		return nil, unavailable(err)
	}
	return convert(found, decodeRoutine)
}

// CompletableProjects returns active Projects of a Product whose Tasks are all finished, oldest first.
func (db *DB) CompletableProjects(ctx context.Context, productID string, most int) ([]company.Project, error) {
	rows, err := db.single().OpenProjectsWithoutOpenTasks(ctx, pgq.OpenProjectsWithoutOpenTasksParams{ProductID: productID, Most: int32(most)})
	if err != nil {
		return nil, unavailable(err)
	}
	return convert(rows, func(r pgq.OpenProjectsWithoutOpenTasksRow) (company.Project, error) {
		return decodeProject(r.Project, r.ProductCascades, r.ProductArchivedAt)
	})
}

// TasksOfProject returns a Project's Tasks by id, archived ones included.
func (db *DB) TasksOfProject(ctx context.Context, projectID string, most int) ([]TaskInPlace, error) {
	rows, err := db.single().TasksOfProject(ctx, pgq.TasksOfProjectParams{ProjectID: projectID, Most: int32(most)})
	if err != nil {
		return nil, unavailable(err)
	}
	return convert(rows, func(r pgq.TasksOfProjectRow) (TaskInPlace, error) {
		return taskRow{r.Task, r.ProductCascades, r.ProductArchivedAt, r.ProjectCascades, r.ProjectArchivedAt, r.ProjectStatus}.inPlace()
	})
}

// AutomationRun is one line of the automation's history.
type AutomationRun struct {
	ID          string
	Status      routine.Status
	TriggeredAt time.Time
	CompletedAt time.Time
	Error       *string
	Output      json.RawMessage
}

// InsertAutomationRun adds a line of history.
func (tx *Tx) InsertAutomationRun(ctx context.Context, r AutomationRun) error {
	return tx.q.InsertAutomationRun(ctx, pgq.InsertAutomationRunParams{
		ID: r.ID, Status: string(r.Status), TriggeredAt: r.TriggeredAt, CompletedAt: r.CompletedAt, Error: r.Error, Output: r.Output,
	})
}

// LatestStreak is the newest streak of a Task, nil for none.
func (tx *Tx) LatestStreak(ctx context.Context, taskID string) (*routine.Streak, error) {
	row, err := tx.q.LatestStreak(ctx, taskID)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	s := routine.Streak(row)
	return &s, err
}

// SaveStreak writes what became of a Task's latest streak, nil for none: the same with another failure, or a new one.
// ErrChanged when somebody else counted meanwhile.
func (tx *Tx) SaveStreak(ctx context.Context, before *routine.Streak, after routine.Streak) error {
	if before != nil && before.ID == after.ID {
		return changed(tx.q.CountStreak(ctx, pgq.CountStreakParams{ID: after.ID, SeenCount: before.Count, Count: after.Count, CompletedAt: after.CompletedAt}))
	}
	if err := tx.q.EndStreaks(ctx, after.TaskID); err != nil {
		return err
	}
	return tx.q.InsertStreak(ctx, pgq.InsertStreakParams(after))
}

// EndStreaks ends what was failing on a Task.
func (tx *Tx) EndStreaks(ctx context.Context, taskID string) error {
	return tx.q.EndStreaks(ctx, taskID)
}

// StreakingTasks are those among the Tasks that have an active streak.
func (db *DB) StreakingTasks(ctx context.Context, ids []string) ([]string, error) {
	rows, err := db.pool.Query(ctx, "SELECT DISTINCT task_id FROM streaks WHERE active AND task_id = ANY($1)", ids)
	if err != nil {
		return nil, unavailable(err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return found, unavailable(err)
}

// TaskByDedupeKey returns the Task of a proposal; ok is false when it was never made.
func (db *DB) TaskByDedupeKey(ctx context.Context, productID, key string) (t TaskInPlace, ok bool, err error) {
	return taskByDedupeKey(ctx, db.single(), productID, key)
}

// TaskByDedupeKey is DB.TaskByDedupeKey inside the transaction.
func (tx *Tx) TaskByDedupeKey(ctx context.Context, productID, key string) (t TaskInPlace, ok bool, err error) {
	return taskByDedupeKey(ctx, tx.q, productID, key)
}

func taskByDedupeKey(ctx context.Context, q *pgq.Queries, productID, key string) (t TaskInPlace, ok bool, err error) {
	r, err := q.TaskByDedupeKey(ctx, pgq.TaskByDedupeKeyParams{ProductID: productID, DedupeKey: &key})
	if errors.Is(err, pgx.ErrNoRows) {
		return t, false, nil
	}
	if err != nil {
		return t, false, unavailable(err)
	}
	t, err = taskRow{r.Task, r.ProductCascades, r.ProductArchivedAt, r.ProjectCascades, r.ProjectArchivedAt, r.ProjectStatus}.inPlace()
	return t, err == nil, err
}
