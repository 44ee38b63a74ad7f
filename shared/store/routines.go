package store

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"companyos/shared/company"
	"companyos/shared/routine"
	"companyos/shared/store/internal/pgq"
	"companyos/shared/task"
)

var routineList = listQuery{
	table: "routines r", alias: "r",
	columns: "r.id, r.product_id, r.user_id, r.name, r.template, r.executor_type, r.executor_id, r.instructions, r.cron_expr, " +
		"r.timezone, r.enabled, r.disabled_reason, r.next_run_at, r.policy, r.fingerprint, r.policy_ends_at, r.budget, r.granted_by, " +
		"r.authority, r.live_run_id, r.last_run, r.revision, r.created_at, r.updated_at",
}

// Routine returns a Routine. KindNotFound when there is none.
func (db *DB) Routine(ctx context.Context, id string) (routine.Routine, error) {
	row, err := db.single().Routine(ctx, id)
	if err != nil {
		return routine.Routine{}, unavailable(notFound(err, "Schedule"))
	}
	return decodeRoutine(row)
}

// Routines returns one page, newest first, and the number of all. An empty productID selects all Products.
func (db *DB) Routines(ctx context.Context, p Page, productID string) ([]routine.Routine, int64, error) {
	var filters []filter
	if productID != "" {
		filters = append(filters, filter{"product_id", productID})
	}
	p.IncludeArchived = true // a Routine is never archived
	rows, total, err := fetch[pgq.Routine](ctx, db, routineList, p, filters)
	if err != nil {
		return nil, 0, err
	}
	routines, err := convert(rows, decodeRoutine)
	return routines, total, err
}

// DueRoutines are the ids of Routines whose time has come, longest overdue first.
func (db *DB) DueRoutines(ctx context.Context, most int) ([]string, error) {
	ids, err := db.single().DueRoutines(ctx, int32(most))
	return ids, unavailable(err)
}

// UpcomingRoutine is when a Routine fires next.
type UpcomingRoutine struct {
	ID        string
	NextRunAt time.Time
}

// UpcomingRoutines are the Routines whose time comes before a moment and has not come yet, soonest first.
func (db *DB) UpcomingRoutines(ctx context.Context, before time.Time, most int) ([]UpcomingRoutine, error) {
	rows, err := db.single().UpcomingRoutines(ctx, pgq.UpcomingRoutinesParams{Before: &before, Most: int32(most)})
	if err != nil {
		return nil, unavailable(err)
	}
	return convert(rows, func(r pgq.UpcomingRoutinesRow) (UpcomingRoutine, error) {
		return UpcomingRoutine{r.ID, *r.NextRunAt}, nil
	})
}

// Routine reads a Routine and its Product inside the transaction. KindNotFound when there is none.
func (tx *Tx) Routine(ctx context.Context, id string) (routine.Routine, company.Product, error) {
	row, err := tx.q.RoutineInPlace(ctx, id)
	if err != nil {
		return routine.Routine{}, company.Product{}, notFound(err, "Schedule")
	}
	r, err := decodeRoutine(row.Routine)
	if err != nil {
		return r, company.Product{}, err
	}
	p, err := decodeProduct(row.Product)
	return r, p, err
}

// HasRoutine says whether a Product has a Routine of that composed name, whoever made it.
func (tx *Tx) HasRoutine(ctx context.Context, productID, name string) (there bool, err error) {
	err = tx.tx.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM routines WHERE product_id = $1 AND name = $2)", productID, name).Scan(&there)
	return there, err
}

// ErrNameTaken says that the creator has a Routine of that name.
var ErrNameTaken = errors.New("the name is taken")

// InsertRoutine adds a Routine, ErrNameTaken where its creator has one of that name.
func (tx *Tx) InsertRoutine(ctx context.Context, r *routine.Routine) error {
	fingerprint, ends, budget := policyColumns(r.Policy)
	return nameTaken(tx.q.InsertRoutine(ctx, pgq.InsertRoutineParams{
		ID: r.ID, ProductID: r.ProductID, UserID: r.UserID, Name: r.Name, Template: (*string)(r.Template), ExecutorType: string(r.ExecutorType),
		ExecutorID: r.ExecutorID, Instructions: r.Instructions, CronExpr: r.CronExpr, Timezone: r.Timezone, Enabled: r.Enabled,
		DisabledReason: r.DisabledReason, NextRunAt: r.NextRunAt, Policy: encodePtr(r.Policy), Fingerprint: fingerprint, PolicyEndsAt: ends,
		Budget: budget, GrantedBy: encodePtr(r.Grant), Authority: encode(r.Authority), LiveRunID: r.LiveRunID, LastRun: encodePtr(r.LastRun),
		Revision: r.Revision, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt,
	}))
}

// SaveRoutine writes after over before, ErrChanged when before is not what is stored, ErrNameTaken as InsertRoutine.
func (tx *Tx) SaveRoutine(ctx context.Context, before, after *routine.Routine) error {
	fingerprint, ends, budget := policyColumns(after.Policy)
	n, err := tx.q.UpdateRoutine(ctx, pgq.UpdateRoutineParams{
		ID: before.ID, Revision: before.Revision, Name: after.Name, ExecutorType: string(after.ExecutorType), ExecutorID: after.ExecutorID,
		Instructions: after.Instructions, CronExpr: after.CronExpr, Timezone: after.Timezone, Enabled: after.Enabled,
		DisabledReason: after.DisabledReason, NextRunAt: after.NextRunAt, Policy: encodePtr(after.Policy), Fingerprint: fingerprint,
		PolicyEndsAt: ends, Budget: budget, GrantedBy: encodePtr(after.Grant), Authority: encode(after.Authority),
		LiveRunID: after.LiveRunID, LastRun: encodePtr(after.LastRun), UpdatedAt: after.UpdatedAt,
	})
	return changed(n, nameTaken(err))
}

// policyColumns are what statements look at without reading the policy.
func policyColumns(p *routine.Policy) (fingerprint *string, ends *time.Time, budget *int64) {
	if p == nil {
		return nil, nil, nil
	}
	f, b := p.Fingerprint(), p.Limits.MaxAcceptances
	e := time.Unix(min(p.Limits.ExpiresAt, latestTime), 0).UTC()
	return &f, &e, &b
}

// latestTime is the year 9999, beyond which a time has no text.
const latestTime = 253402300799

func nameTaken(err error) error {
	if pe, ok := errors.AsType[*pgconn.PgError](err); ok && pe.Code == stateUnique && pe.ConstraintName == "routines_user_id_name_key" {
		return ErrNameTaken
	}
	return err
}

func decodeRoutine(r pgq.Routine) (routine.Routine, error) {
	out := routine.Routine{
		ID: r.ID, ProductID: r.ProductID, UserID: r.UserID, Name: r.Name, Template: (*routine.Template)(r.Template),
		ExecutorType: task.ExecutorKind(r.ExecutorType), ExecutorID: r.ExecutorID, Instructions: r.Instructions, CronExpr: r.CronExpr,
		Timezone: r.Timezone, Enabled: r.Enabled, DisabledReason: r.DisabledReason, NextRunAt: r.NextRunAt, LiveRunID: r.LiveRunID,
		Revision: r.Revision, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt,
	}
	var err [4]error
	out.Policy, err[0] = decodePtr[routine.Policy](r.Policy)
	out.Grant, err[1] = decodePtr[task.Authorization](r.GrantedBy)
	out.LastRun, err[2] = decodePtr[routine.LastRun](r.LastRun)
	err[3] = json.Unmarshal(r.Authority, &out.Authority)
	return out, errors.Join(err[:]...)
}

// InsertRoutineRun adds a firing.
func (tx *Tx) InsertRoutineRun(ctx context.Context, r *routine.Run) error {
	return tx.q.InsertRoutineRun(ctx, pgq.InsertRoutineRunParams{
		ID: r.ID, RoutineID: r.RoutineID, ProductID: r.ProductID, UserID: r.UserID, Status: string(r.Status), RunID: textOrNull(r.RunID),
		SessionID: textOrNull(r.SessionID), Message: r.Message, Authority: encode(r.Authority), ClaimedBy: textOrNull(r.ClaimedBy),
		LeaseUntil: r.LeaseUntil, StartUntil: r.StartUntil, TriggeredAt: r.TriggeredAt, CompletedAt: r.CompletedAt, Error: r.Error, Output: r.Output,
	})
}

// SaveRoutineRun writes after over before, ErrChanged when it has ended or another worker holds it.
func (tx *Tx) SaveRoutineRun(ctx context.Context, before, after *routine.Run) error {
	return changed(tx.q.UpdateRoutineRun(ctx, pgq.UpdateRoutineRunParams{
		ID: before.ID, SeenClaimedBy: textOrNull(before.ClaimedBy), Status: string(after.Status), ClaimedBy: textOrNull(after.ClaimedBy),
		LeaseUntil: after.LeaseUntil, CompletedAt: after.CompletedAt, Error: after.Error, Output: after.Output,
	}))
}

// RoutineRun returns the firing whose run has this id; ok is false when there is none.
func (db *DB) RoutineRun(ctx context.Context, runID string) (r routine.Run, ok bool, err error) {
	return routineRun(ctx, db.single(), runID)
}

// RoutineRun is DB.RoutineRun inside the transaction.
func (tx *Tx) RoutineRun(ctx context.Context, runID string) (r routine.Run, ok bool, err error) {
	return routineRun(ctx, tx.q, runID)
}

func routineRun(ctx context.Context, q *pgq.Queries, runID string) (r routine.Run, ok bool, err error) {
	row, err := q.RoutineRun(ctx, &runID)
	if errors.Is(err, pgx.ErrNoRows) {
		return r, false, nil
	}
	if err != nil {
		return r, false, unavailable(err)
	}
	r, err = decodeRoutineRun(row)
	return r, err == nil, err
}

// RoutineRuns returns one page of a Routine's firings, newest first, and the number of all.
func (db *DB) RoutineRuns(ctx context.Context, routineID string, p Page) ([]routine.Run, int64, error) {
	total, err := db.single().CountRoutineRuns(ctx, routineID)
	if err != nil || !p.reaches(total) {
		return nil, total, unavailable(err)
	}
	rows, err := db.single().RoutineRuns(ctx, pgq.RoutineRunsParams{RoutineID: routineID, Most: int32(p.Limit), Skip: int32(p.skip())})
	if err != nil {
		return nil, 0, unavailable(err)
	}
	runs, err := convert(rows, decodeRoutineRun)
	return runs, total, err
}

// RunningRoutineRuns returns firings from before a moment that nobody works on, oldest first.
func (db *DB) RunningRoutineRuns(ctx context.Context, before time.Time, most int) ([]routine.Run, error) {
	rows, err := db.single().RunningRoutineRuns(ctx, pgq.RunningRoutineRunsParams{TriggeredBefore: before, Most: int32(most)})
	if err != nil {
		return nil, unavailable(err)
	}
	return convert(rows, decodeRoutineRun)
}

func decodeRoutineRun(r pgq.RoutineRun) (routine.Run, error) {
	out := routine.Run{
		ID: r.ID, RoutineID: r.RoutineID, ProductID: r.ProductID, UserID: r.UserID, Status: routine.Status(r.Status), RunID: text(r.RunID),
		SessionID: text(r.SessionID), Message: r.Message, ClaimedBy: text(r.ClaimedBy), LeaseUntil: r.LeaseUntil, StartUntil: r.StartUntil,
		TriggeredAt: r.TriggeredAt, CompletedAt: r.CompletedAt, Error: r.Error, Output: r.Output,
	}
	return out, json.Unmarshal(r.Authority, &out.Authority)
}

// CountAcceptances counts what a policy has accepted, without one record.
func (tx *Tx) CountAcceptances(ctx context.Context, routineID, policy, except string) (int64, error) {
	return tx.q.CountAcceptances(ctx, pgq.CountAcceptancesParams{RoutineID: routineID, Policy: policy, RecordID: except})
}

// CountAcceptances is Tx.CountAcceptances as a single statement.
func (db *DB) CountAcceptances(ctx context.Context, routineID, policy, except string) (int64, error) {
	n, err := db.single().CountAcceptances(ctx, pgq.CountAcceptancesParams{RoutineID: routineID, Policy: policy, RecordID: except})
	return n, unavailable(err)
}

// InsertAcceptance counts a record against a policy's budget.
func (tx *Tx) InsertAcceptance(ctx context.Context, routineID, policy, recordID string, at time.Time) error {
	_, err := tx.q.InsertAcceptance(ctx, pgq.InsertAcceptanceParams{RoutineID: routineID, Policy: policy, RecordID: recordID, AcceptedAt: at})
	return err
}
