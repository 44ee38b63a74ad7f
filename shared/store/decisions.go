package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"companyos/shared/company"
	"companyos/shared/store/internal/pgq"
)

// DecisionFilter selects decisions; empty fields select all.
type DecisionFilter struct {
	Text      string // part of the value of any field, in either case
	AgentID   *string
	SessionID *string
	Since     *time.Time
}

// decisionFields are the fields that a search looks into.
const decisionFields = "id decision reasoning context outcome user_id agent_id session_id"

func (f DecisionFilter) where() (sql string, args []any) {
	parts := []string{"TRUE"}
	add := func(condition string, v any) {
		args = append(args, v)
		parts = append(parts, strings.ReplaceAll(condition, "?", fmt.Sprintf("$%d", len(args))))
	}
	if f.Text != "" {
		var fields []string
		for field := range strings.FieldsSeq(decisionFields) {
			fields = append(fields, "strpos(lower("+field+"), lower(?)) > 0")
		}
		add("("+strings.Join(fields, " OR ")+")", f.Text)
	}
	if f.AgentID != nil {
		add("agent_id = ?", *f.AgentID)
	}
	if f.SessionID != nil {
		add("session_id = ?", *f.SessionID)
	}
	if f.Since != nil {
		add("created_at >= ?", *f.Since)
	}
	return strings.Join(parts, " AND "), args
}

// Decisions returns one page of decisions, newest first, and the number of all that are selected.
func (db *DB) Decisions(ctx context.Context, p Page, f DecisionFilter) (decisions []company.Decision, total int64, err error) {
	where, args := f.where()
	var b pgx.Batch
	b.Queue("SELECT count(*) FROM decisions WHERE "+where, args...).QueryRow(func(r pgx.Row) error { return r.Scan(&total) })
	rows := fmt.Sprintf("SELECT id, decision, reasoning, context, outcome, user_id, agent_id, session_id, created_at FROM decisions WHERE %s "+
		"ORDER BY created_at DESC, id DESC LIMIT $%d OFFSET $%d", where, len(args)+1, len(args)+2)
	b.Queue(rows, append(args, p.Limit, p.skip())...).Query(func(r pgx.Rows) (err error) {
		decisions, err = pgx.CollectRows(r, pgx.RowToStructByPos[company.Decision])
		return err
	})
	return decisions, total, unavailable(db.pool.SendBatch(ctx, &b).Close())
}

// InsertDecision adds a decision.
func (tx *Tx) InsertDecision(ctx context.Context, d *company.Decision) error {
	return tx.q.InsertDecision(ctx, pgq.InsertDecisionParams(*d))
}
