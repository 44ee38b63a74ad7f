package store

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"companyos/shared/company"
	"companyos/shared/store/internal/pgq"
	"companyos/shared/task"
)

// TaskInPlace is a Task with what its parents allow.
type TaskInPlace struct {
	task.Task
	ProductArchived bool
	ProjectArchived bool // by itself or through the Product
	ProjectStatus   company.ProjectStatus
}

type taskRow struct {
	pgq.Task
	ProductCascades   json.RawMessage
	ProductArchivedAt *time.Time
	ProjectCascades   json.RawMessage
	ProjectArchivedAt *time.Time
	ProjectStatus     string
}

// Task returns a Task, archived or not. KindNotFound when there is none.
func (db *DB) Task(ctx context.Context, id string) (TaskInPlace, error) {
	row, err := fetchOne[taskRow](ctx, db, taskList, id)
	if err != nil {
		return TaskInPlace{}, notFound(err, "Task")
	}
	return row.inPlace()
}

// TaskFilter selects Tasks; empty fields select all.
type TaskFilter struct {
	ProductID string
	ProjectID string
	Status    task.Status
	Failed    *bool
}

// Tasks returns one page and the number of all.
func (db *DB) Tasks(ctx context.Context, p Page, f TaskFilter) (List[TaskInPlace], error) {
	var filters []filter
	for _, s := range []struct{ column, value string }{{"product_id", f.ProductID}, {"project_id", f.ProjectID}, {"status", string(f.Status)}} {
		if s.value != "" {
			filters = append(filters, filter{s.column, s.value})
		}
	}
	if f.Failed != nil {
		filters = append(filters, filter{"failed", *f.Failed})
	}
	return fetchList(ctx, db, taskList, p, filters, taskRow.inPlace)
}

func (r taskRow) place() (createdAt time.Time, updatedAt *time.Time, id string) {
	return r.CreatedAt, r.UpdatedAt, r.ID
}

// Task reads a Task inside the transaction. KindNotFound when there is none.
func (tx *Tx) Task(ctx context.Context, id string) (TaskInPlace, error) {
	r, err := tx.q.Task(ctx, id)
	if err != nil {
		return TaskInPlace{}, notFound(err, "Task")
	}
	return taskRow{r.Task, r.ProductCascades, r.ProductArchivedAt, r.ProjectCascades, r.ProjectArchivedAt, r.ProjectStatus}.inPlace()
}

// InsertTask adds a Task. KindNotFound names the parent that went away meanwhile.
func (tx *Tx) InsertTask(ctx context.Context, t *task.Task) error {
	err := tx.q.InsertTask(ctx, pgq.InsertTaskParams{
		ID: t.ID, ProductID: t.ProductID, ProjectID: t.ProjectID, OpenProjectID: openProject(t), Title: t.Title, Brief: t.Brief,
		Evidence: encodeEvidence(t.Evidence), Origin: string(t.Origin), RoutineID: t.RoutineID, DedupeKey: t.DedupeKey,
		Status: string(t.Status), UserID: t.UserID, Transitions: encodeList(t.Transitions), ExecutorType: (*string)(t.ExecutorType),
		ExecutorID: t.ExecutorID, AcceptedBy: t.AcceptedBy, AcceptedAt: t.AcceptedAt, SessionID: t.SessionID, JobID: t.JobID,
		LiveRunID: t.LiveRunID, Checkout: encodePtr(t.Checkout), Result: encodePtr(t.Result), Failed: t.Failed(),
		ProductArchive: int32(t.ProductArchive), ProjectArchive: int32(t.ProjectArchive), Revision: t.Revision,
		CreatedAt: t.CreatedAt, UpdatedAt: t.UpdatedAt, ArchivedAt: ownArchivedAt(t.ArchivedAt, t.Transitions),
	})
	if err := referenced(err); err != nil {
		return err
	}
	return tx.count(ctx, nil, taskKey(t))
}

// SaveTask writes after over before, ErrChanged when before is not what is stored or when its Project was finished
// meanwhile.
func (tx *Tx) SaveTask(ctx context.Context, before, after *task.Task) error {
	n, err := tx.q.UpdateTask(ctx, pgq.UpdateTaskParams{
		ID: before.ID, Revision: before.Revision, ProjectID: after.ProjectID, OpenProjectID: openProject(after), Title: after.Title,
		Brief: after.Brief, Evidence: encodeEvidence(after.Evidence), Status: string(after.Status),
		Transitions: encodeList(after.Transitions), ExecutorType: (*string)(after.ExecutorType), ExecutorID: after.ExecutorID,
		AcceptedBy: after.AcceptedBy, AcceptedAt: after.AcceptedAt, JobID: after.JobID, LiveRunID: after.LiveRunID,
		Checkout: encodePtr(after.Checkout), Result: encodePtr(after.Result), Failed: after.Failed(),
		ProductArchive: int32(after.ProductArchive), ProjectArchive: int32(after.ProjectArchive),
		UpdatedAt: after.UpdatedAt, ArchivedAt: ownArchivedAt(after.ArchivedAt, after.Transitions),
	})
	if err := changed(n, referenced(err)); err != nil {
		return err
	}
	return tx.count(ctx, taskKey(before), taskKey(after))
}

// referenced turns the violation that keeps open Tasks out of finished Projects into ErrChanged.
func referenced(err error) error {
	if pe, ok := errors.AsType[*pgconn.PgError](err); ok && pe.Code == stateForeignKey && pe.ConstraintName == "tasks_open_project_id_fkey" {
		return ErrChanged
	}
	return err
}

func openProject(t *task.Task) *string {
	if t.Status.Open() {
		return &t.ProjectID
	}
	return nil
}

// encodeEvidence keeps "never given" apart from "none".
func encodeEvidence(evidence []json.RawMessage) json.RawMessage {
	if evidence == nil {
		return nil
	}
	return encode(evidence)
}

func (r taskRow) inPlace() (TaskInPlace, error) {
	t := task.Task{
		ID: r.ID, ProductID: r.ProductID, ProjectID: r.ProjectID, Title: r.Title, Brief: r.Brief, Origin: task.Origin(r.Origin),
		RoutineID: r.RoutineID, DedupeKey: r.DedupeKey, Status: task.Status(r.Status), UserID: r.UserID,
		ExecutorType: (*task.ExecutorKind)(r.ExecutorType), ExecutorID: r.ExecutorID, AcceptedBy: r.AcceptedBy,
		AcceptedAt: r.AcceptedAt, SessionID: r.SessionID, JobID: r.JobID, LiveRunID: r.LiveRunID,
		CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt, ArchivedAt: r.ArchivedAt, Revision: r.Revision,
		ProductArchive: int(r.ProductArchive), ProjectArchive: int(r.ProjectArchive),
	}
	var err [6]error
	if r.Evidence != nil {
		err[0] = json.Unmarshal(r.Evidence, &t.Evidence)
	}
	t.Checkout, err[1] = decodePtr[task.Checkout](r.Checkout)
	t.Result, err[2] = decodePtr[task.Result](r.Result)
	err[3] = json.Unmarshal(r.Transitions, &t.Transitions)
	parents := company.Parents{ProductArchivedAt: r.ProductArchivedAt, ProjectArchivedAt: r.ProjectArchivedAt}
	err[4] = json.Unmarshal(r.ProductCascades, &parents.ProductCascades)
	err[5] = json.Unmarshal(r.ProjectCascades, &parents.ProjectCascades)
	return TaskInPlace{
		Task:            company.ApplyToTask(t, parents),
		ProductArchived: r.ProductArchivedAt != nil,
		ProjectArchived: r.ProjectArchivedAt != nil || r.ProductArchivedAt != nil,
		ProjectStatus:   company.ProjectStatus(r.ProjectStatus),
	}, errors.Join(err[:]...)
}
