package store

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"companyos/shared/company"
	"companyos/shared/store/internal/pgq"
	"companyos/shared/task"
)

// StartFacts is what the start of an attempt depends on beside the Task, read in one round trip.
type StartFacts struct {
	Now      time.Time // the database's clock
	Named    *task.Run // the run that the attempt names, nil when there is none
	Previous *task.Run // the run of the latest attempt, nil before the first
	Sources  []company.Source
	Pages    []company.Page // until their contents exceed the limit asked for
	Product  company.Product
	Pending  int // runs that wait, counted up to the limit asked for
}

// StartLimits bounds what StartFacts reads and counts.
type StartLimits struct {
	Pending   int
	PageBytes int
}

// StartFacts reads the facts for one attempt of a Task. previous is the Task's latest run, empty before the first.
func (db *DB) StartFacts(ctx context.Context, t *task.Task, named, previous string, limits StartLimits) (f StartFacts, err error) {
	const runColumns = "SELECT * FROM runs WHERE id = $1"
	var b pgx.Batch
	one := func(id string, into **task.Run) {
		b.Queue(runColumns, id).Query(func(r pgx.Rows) error {
			rows, err := pgx.CollectRows(r, pgx.RowToStructByPos[pgq.Run])
			if err != nil || len(rows) == 0 {
				return err
			}
			run, err := decodeRun(rows[0])
			*into = &run
			return err
		})
	}
	b.Queue("SELECT clock_timestamp()").QueryRow(func(r pgx.Row) error { return r.Scan(&f.Now) })
	one(named, &f.Named)
	one(previous, &f.Previous)
	b.Queue(`SELECT id, product_id, type, reference, credential_ref, config, user_id, revision, created_at, updated_at, archived_at
		FROM sources WHERE product_id = $1 AND type = 'git' AND archived_at IS NULL ORDER BY id`, t.ProductID).Query(func(r pgx.Rows) error {
		rows, err := pgx.CollectRows(r, pgx.RowToStructByPos[pgq.Source])
		if err != nil {
			return err
		}
		f.Sources, err = convert(rows, decodeSource)
		return err
	})
	b.Queue(inputPages, t.ProductID, limits.PageBytes).Query(func(r pgx.Rows) (err error) {
		f.Pages, err = collectPages(r)
		return err
	})
	b.Queue("SELECT id, name, purpose, user_id, metadata, cascades, revision, created_at, updated_at, archived_at FROM products WHERE id = $1",
		t.ProductID).Query(func(r pgx.Rows) error {
		row, err := pgx.CollectExactlyOneRow(r, pgx.RowToStructByPos[pgq.Product])
		if err != nil {
			return err
		}
		f.Product, err = decodeProduct(row)
		return err
	})
	b.Queue("SELECT count(*) FROM (SELECT 1 AS one FROM runs WHERE state = 'PENDING' LIMIT $1) AS pending", limits.Pending).
		QueryRow(func(r pgx.Row) error { return r.Scan(&f.Pending) })
	return f, unavailable(db.pool.SendBatch(ctx, &b).Close())
}

// Reserve writes a reserved attempt: the Task from before to after, the run and its first event if it has one, in one
// statement. ok is false when the Task is no longer as it was seen, or when the wake that was sent first may have arrived
// already.
func (tx *Tx) Reserve(ctx context.Context, before, after *task.Task, r *task.Run, first *Event) (ok bool, err error) {
	var event Event
	if first != nil {
		event = *first
	}
	var checkout json.RawMessage
	if r.Sandboxed {
		checkout = encodeCheckout(r.Checkout)
	}
	n, err := tx.q.ReserveRun(ctx, pgq.ReserveRunParams{
		TaskID: before.ID, Revision: before.Revision, SeenStatus: string(before.Status), SeenFailed: before.Failed(),
		Transitions: encodeList(after.Transitions), ProductArchive: int32(after.ProductArchive), ProjectArchive: int32(after.ProjectArchive),
		UpdatedAt: r.CreatedAt, MinusID: uuid.New(), PlusID: uuid.New(),
		RunID: r.ID, Attempt: int32(r.Attempt), SessionID: r.SessionID, UserID: r.UserID, StartedBy: r.StartedBy,
		ExecutorType: string(r.ExecutorType), ExecutorID: r.ExecutorID, Sandboxed: r.Sandboxed, InputKey: r.InputKey,
		InputSha256: r.InputSHA256, SourceID: textOrNull(r.SourceID), Checkout: checkout, DueAt: r.DueAt, StartUntil: r.StartUntil,
		StopGraceMs: r.StopGrace.Milliseconds(), WaitingReason: textOrNull(r.WaitingReason), WaitingSince: r.WaitingSince,
		EventType: textOrNull(event.Type), EventBody: event.Body,
	})
	return n > 0, err
}
