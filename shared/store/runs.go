package store

import (
	"context"
	"errors"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"companyos/shared/store/internal/pgq"
	"companyos/shared/task"
)

// Run returns a run. KindNotFound when there is none.
func (db *DB) Run(ctx context.Context, id string) (task.Run, error) {
	row, err := db.single().Run(ctx, id)
	if err != nil {
		return task.Run{}, unavailable(notFound(err, "Company run"))
	}
	return decodeRun(row)
}

// ListContent is how much of a run's content a list shows, in bytes.
const ListContent = 64 << 10

// TaskWithRuns returns a Task and the number of its runs, read in one round trip. KindNotFound when there is none.
func (db *DB) TaskWithRuns(ctx context.Context, id string) (t TaskInPlace, runs int64, err error) {
	var b pgx.Batch
	b.Queue(taskList.one(), id).Query(func(r pgx.Rows) error {
		row, err := pgx.CollectExactlyOneRow(r, pgx.RowToStructByPos[taskRow])
		if err != nil {
			return err
		}
		t, err = row.inPlace()
		return err
	})
	b.Queue("SELECT count(*) FROM runs WHERE task_id = $1", id).QueryRow(func(r pgx.Row) error { return r.Scan(&runs) })
	if err := db.pool.SendBatch(ctx, &b).Close(); err != nil {
		return TaskInPlace{}, 0, notFound(unavailable(err), "Task")
	}
	return t, runs, nil
}

// RunsOfTask returns one page of a Task's runs, oldest first, without tokens and with their content cut at ListContent.
// total is the number of all: a page beyond it asks nothing of the database.
func (db *DB) RunsOfTask(ctx context.Context, taskID string, total int64, p Page) ([]task.Run, error) {
	if !p.reaches(total) {
		return nil, nil
	}
	rows, err := db.single().RunsOfTask(ctx, pgq.RunsOfTaskParams{
		TaskID: taskID, MostContent: ListContent, Most: int32(p.Limit), Skip: int32(p.skip()),
	})
	if err != nil {
		return nil, unavailable(err)
	}
	return convert(rows, func(r pgq.RunsOfTaskRow) (task.Run, error) {
		r.Content = cut(r.Content, ListContent)
		return decodeRun(pgq.Run(r))
	})
}

// cut shortens s to at most n bytes without breaking a character.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// WaitingRef names a run that somebody has to be woken for.
type WaitingRef struct {
	ID        string
	Sandboxed bool
	DueAt     time.Time
}

// OverdueRuns returns runs that were due before a moment and still need a look, longest overdue first.
func (db *DB) OverdueRuns(ctx context.Context, before time.Time, most int) ([]WaitingRef, error) {
	rows, err := db.single().OverdueRuns(ctx, pgq.OverdueRunsParams{DueBefore: before, Most: int32(most)})
	if err != nil {
		return nil, unavailable(err)
	}
	return convert(rows, func(r pgq.OverdueRunsRow) (WaitingRef, error) { return WaitingRef(r), nil })
}

// UnfinishedRuns returns one batch of the runs that need a look, by id and after the given one.
func (db *DB) UnfinishedRuns(ctx context.Context, after string, most int) ([]WaitingRef, error) {
	rows, err := db.single().UnfinishedRuns(ctx, pgq.UnfinishedRunsParams{AfterID: after, Most: int32(most)})
	if err != nil {
		return nil, unavailable(err)
	}
	return convert(rows, func(r pgq.UnfinishedRunsRow) (WaitingRef, error) { return WaitingRef(r), nil })
}

// EndLeases ends what every worker has taken, of Tasks and of Routines, and the calls that start sandboxes: for the one process
// that works on these rows, when it starts and whoever worked before is dead.
func (db *DB) EndLeases(ctx context.Context, now time.Time) error {
	return db.Transact(ctx, func(ctx context.Context, tx *Tx) error {
		if err := tx.q.EndLeases(ctx, &now); err != nil {
			return err
		}
		if err := tx.q.EndCalls(ctx, &now); err != nil {
			return err
		}
		return tx.q.EndRoutineLeases(ctx, &now)
	})
}

// Waiting is the sandboxed run whose turn it is to get a slot.
type Waiting struct {
	ID    string
	Taken int       // slots
	Now   time.Time // the database's clock
}

// OldestPending returns the run whose turn it is, nil when none waits.
func (db *DB) OldestPending(ctx context.Context) (*Waiting, error) {
	row, err := db.single().OldestPending(ctx)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	return &Waiting{row.ID, int(row.Taken), row.Now}, unavailable(err)
}

// PendingAhead counts the sandboxed runs that get a slot before this one.
func (db *DB) PendingAhead(ctx context.Context, r *task.Run) (int64, error) {
	n, err := db.single().PendingAhead(ctx, pgq.PendingAheadParams{CreatedAt: r.CreatedAt, ID: r.ID})
	return n, unavailable(err)
}

// LastCompleted returns the newest completed attempt before this one, whose work it continues; ok is false on a first.
func (db *DB) LastCompleted(ctx context.Context, taskID string, beforeAttempt int) (r task.Run, ok bool, err error) {
	row, err := db.single().LastCompletedRun(ctx, pgq.LastCompletedRunParams{TaskID: taskID, BeforeAttempt: int32(beforeAttempt)})
	return oneOrNone(row, err)
}

// RunAndClock returns a run and the database's clock. KindNotFound when there is none.
func (db *DB) RunAndClock(ctx context.Context, id string) (task.Run, time.Time, error) {
	r, now, err := runAndClock(ctx, db.single(), id)
	return r, now, unavailable(err)
}

// RunAndClock is DB.RunAndClock inside the transaction.
func (tx *Tx) RunAndClock(ctx context.Context, id string) (task.Run, time.Time, error) {
	return runAndClock(ctx, tx.q, id)
}

func runAndClock(ctx context.Context, q *pgq.Queries, id string) (task.Run, time.Time, error) {
	row, err := q.RunAndClock(ctx, id)
	if err != nil {
		return task.Run{}, time.Time{}, notFound(err, "Company run")
	}
	r, err := decodeRun(row.Run)
	return r, row.Now, err
}

// SaveRun writes after over before, ErrChanged when before is not what is stored.
func (tx *Tx) SaveRun(ctx context.Context, before, after *task.Run) error {
	err := changed(tx.q.UpdateRun(ctx, pgq.UpdateRunParams{
		ID: before.ID, SeenState: string(before.State), SeenLaunch: int32(before.Launch), SeenDueAt: before.DueAt,
		SeenEventBatches: int32(before.EventBatches), SeenClaimedBy: textOrNull(before.ClaimedBy),
		SeenSessionHash: textOrNull(before.SessionHash), SeenSandboxHandle: textOrNull(before.SandboxARN),
		SeenCallingUntil: before.CallingUntil, SeenCancelAt: before.CancelAt, SeenStoppedAt: before.StoppedAt,
		SeenPreparedAt: before.PreparedAt, SeenResultSha256: textOrNull(before.ResultSHA256),
		SeenArtifacts: encodeList(before.Artifacts),

		State: string(after.State), SourceID: textOrNull(after.SourceID), Checkout: encodeCheckout(after.Checkout), DueAt: after.DueAt, RunUntil: after.RunUntil,
		Launch: int32(after.Launch), LaunchToken: textOrNull(after.LaunchToken), LaunchHash: textOrNull(after.LaunchHash),
		TokenUntil: after.TokenUntil, CallingUntil: after.CallingUntil, SandboxHandle: textOrNull(after.SandboxARN),
		ClaimedBy: textOrNull(after.ClaimedBy), ClaimedAt: after.ClaimedAt, SessionHash: textOrNull(after.SessionHash),
		LeaseUntil: after.LeaseUntil, CancelAt: after.CancelAt, PreparedAt: after.PreparedAt, StoppedAt: after.StoppedAt,
		StopReason: textOrNull(after.StopReason), EventBatches: int32(after.EventBatches), ResultKey: textOrNull(after.ResultKey),
		ResultSha256: textOrNull(after.ResultSHA256), Content: after.Content, ContentType: textOrNull(after.ContentType),
		Ended: encodePtr(after.Ended), Usage: encodePtr(after.Usage), Artifacts: encodeList(after.Artifacts),
		Sandbox: encodePtr(after.SandboxInfo), WaitingReason: textOrNull(after.WaitingReason), WaitingSince: after.WaitingSince,
		EndedAt: after.EndedAt, UpdatedAt: after.UpdatedAt,
	}))
	if err != nil {
		return err
	}
	return tx.followArtifacts(ctx, before, after)
}

// MoveDue sets when a run is looked at next, unless somebody else did since: then moved is false. Only whoever has sent
// a message that arrives at that moment calls it.
func (db *DB) MoveDue(ctx context.Context, id string, seen, due time.Time) (moved bool, err error) {
	n, err := db.single().MoveDue(ctx, pgq.MoveDueParams{ID: id, SeenDueAt: seen, DueAt: due})
	return n > 0, unavailable(err)
}
