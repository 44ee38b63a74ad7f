package store

import (
	"context"
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5"

	"companyos/shared/company"
	"companyos/shared/task"
)

// attentionCounts sums what waits for a person, of one Product ($1) or of all, and lists the streaks that still stand: a
// Task's present revision is the one that the automation failed on.
const attentionCounts = `SELECT
		COALESCE(SUM(c.n) FILTER (WHERE c.status = 'backlog'), 0)::bigint,
		COALESCE(SUM(c.n) FILTER (WHERE c.status = 'in_review'), 0)::bigint,
		COALESCE(SUM(c.n) FILTER (WHERE c.failed), 0)::bigint,
		(SELECT count(*) FROM routines r JOIN products p ON p.id = r.product_id
			WHERE r.last_run ->> 'status' = 'failed' AND p.archived_at IS NULL AND ($1 = '' OR r.product_id = $1)),
		(SELECT COALESCE(jsonb_agg(jsonb_build_object('TaskID', s.task_id, 'Reason', s.reason, 'Count', s.count) ORDER BY s.triggered_at DESC, s.id DESC), '[]')
			FROM streaks s JOIN tasks t ON t.id = s.task_id JOIN products p ON p.id = t.product_id JOIN projects j ON j.id = t.project_id
			WHERE s.active AND s.task_revision = t.revision AND t.archived_at IS NULL AND p.archived_at IS NULL AND j.archived_at IS NULL
				AND ($1 = '' OR t.product_id = $1))
	FROM totals c
	JOIN products p ON p.id = c.product_id
	JOIN projects j ON j.id = c.project_id
	WHERE c.kind = 'task' AND NOT c.archived AND p.archived_at IS NULL AND j.archived_at IS NULL
		AND ($1 = '' OR c.product_id = $1)`

// attentionItems is one page of the things that wait, longest waiting first, behind a place ($6, $7) where one is given.
// What is told of each is read for the page alone; what decides the order walks indexes and stops.
const attentionItems = `WITH page AS (
		SELECT kind, id, since FROM (
			(SELECT 'task' AS kind, t.id, COALESCE(t.updated_at, t.created_at) AS since
				FROM tasks t JOIN products p ON p.id = t.product_id JOIN projects j ON j.id = t.project_id
				WHERE t.archived_at IS NULL AND (t.status IN ('backlog', 'in_review') OR t.failed)
					AND p.archived_at IS NULL AND j.archived_at IS NULL AND ($1 = '' OR t.product_id = $1)
					AND ($6::timestamptz IS NULL OR (COALESCE(t.updated_at, t.created_at), t.id) > ($6::timestamptz, $7::text))
				ORDER BY COALESCE(t.updated_at, t.created_at), t.id LIMIT $3)
			UNION ALL
			(SELECT 'task', t.id, COALESCE(t.updated_at, t.created_at)
				FROM streaks s JOIN tasks t ON t.id = s.task_id JOIN products p ON p.id = t.product_id JOIN projects j ON j.id = t.project_id
				WHERE s.active AND s.task_revision = t.revision AND t.archived_at IS NULL AND NOT (t.status IN ('backlog', 'in_review') OR t.failed)
					AND p.archived_at IS NULL AND j.archived_at IS NULL AND ($1 = '' OR t.product_id = $1)
					AND ($6::timestamptz IS NULL OR (COALESCE(t.updated_at, t.created_at), t.id) > ($6::timestamptz, $7::text))
				ORDER BY COALESCE(t.updated_at, t.created_at), t.id LIMIT $3)
			UNION ALL
			(SELECT 'routine', r.id, (r.last_run ->> 'completed_at')::timestamptz
				FROM routines r JOIN products p ON p.id = r.product_id
				WHERE r.last_run ->> 'status' = 'failed' AND p.archived_at IS NULL AND ($1 = '' OR r.product_id = $1)
					AND ($6::timestamptz IS NULL OR ((r.last_run ->> 'completed_at')::timestamptz, r.id) > ($6::timestamptz, $7::text))
				ORDER BY (r.last_run ->> 'completed_at')::timestamptz, r.id LIMIT $3)
		) waiting ORDER BY since, id LIMIT $4 OFFSET $5
	)
	SELECT CASE WHEN s.id IS NOT NULL THEN 'automation_failed' WHEN t.failed THEN 'attempt_failed' WHEN t.status = 'in_review' THEN 'review'
			ELSE 'proposal' END, t.id, COALESCE(t.routine_id, ''), t.product_id, t.title, page.since, t.status, t.user_id, t.accepted_by,
		t.executor_type, t.executor_id, (SELECT count(*) FROM jsonb_array_elements(t.transitions) e WHERE e ? 'attempt')::integer,
		COALESCE(s.reason, left(t.result ->> 'content', 1000), ''), COALESCE(s.count, 0)::bigint,
		(t.status = 'backlog' AND a.enabled AND a.policy_ends_at > $2 AND NOT t.transitions @> '[{"target": "ready"}]' AND a.budget >
			(SELECT count(*) FROM acceptances x WHERE x.routine_id = a.id AND x.policy = a.fingerprint)) IS TRUE,
		NULL::timestamptz
	FROM page JOIN tasks t ON t.id = page.id
	LEFT JOIN streaks s ON s.task_id = t.id AND s.active AND s.task_revision = t.revision
	LEFT JOIN routines a ON a.id = t.routine_id
	WHERE page.kind = 'task'
	UNION ALL
	SELECT 'routine_failed', '', r.id, r.product_id, r.name, page.since, '', r.user_id, NULL, r.executor_type, r.executor_id, 0,
		COALESCE(r.last_run ->> 'error', ''), 1, FALSE, CASE WHEN r.enabled THEN r.next_run_at END
	FROM page JOIN routines r ON r.id = page.id
	WHERE page.kind = 'routine'
	ORDER BY 6, 2, 3`

type waitingRow struct {
	Cause, TaskID, RoutineID, ProductID, Title string
	Since                                      time.Time
	Status                                     string
	UserID, AcceptedBy                         *string
	ExecutorType, ExecutorID                   *string
	Attempts                                   int32
	Reason                                     string
	Count                                      int64
	Automatic                                  bool
	NextRunAt                                  *time.Time
}

// Attention counts what waits for a person, of one Product or, with an empty id, of all, and returns one page of it.
func (db *DB) Attention(ctx context.Context, productID string, p Page, now time.Time) (a company.Attention, items []company.Waiting, err error) {
	var b pgx.Batch
	b.Queue(attentionCounts, productID).QueryRow(func(r pgx.Row) error {
		var routines int64
		var streaks json.RawMessage
		if err := r.Scan(&a.Proposals, &a.InReview, &a.Failed, &routines, &streaks); err != nil {
			return err
		}
		err := json.Unmarshal(streaks, &a.AutomationFailures)
		a.Failed += routines + int64(len(a.AutomationFailures))
		return err
	})
	skip, at, id := p.skip(), (*time.Time)(nil), ""
	if p.After != nil {
		skip, at, id = 0, &p.After.At, p.After.ID
	}
	b.Queue(attentionItems, productID, now, skip+p.Limit, p.Limit, skip, at, id).Query(func(r pgx.Rows) error {
		rows, err := pgx.CollectRows(r, pgx.RowToStructByPos[waitingRow])
		if err != nil {
			return err
		}
		for _, w := range rows {
			items = append(items, company.Waiting{
				Cause: company.Cause(w.Cause), TaskID: w.TaskID, RoutineID: w.RoutineID, ProductID: w.ProductID, Title: w.Title, Since: w.Since,
				Status: task.Status(w.Status), UserID: w.UserID, AcceptedBy: w.AcceptedBy, ExecutorType: (*task.ExecutorKind)(w.ExecutorType),
				ExecutorID: w.ExecutorID, Attempts: int(w.Attempts), Reason: w.Reason, Count: w.Count, Automatic: w.Automatic, NextRunAt: w.NextRunAt,
			})
		}
		return nil
	})
	return a, items, unavailable(db.pool.SendBatch(ctx, &b).Close())
}
