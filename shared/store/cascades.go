package store

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"companyos/shared/company"
	"companyos/shared/store/internal/pgq"
)

// A parent that is archived or restored is written alone, together with a row of cascades for each kind of its children.
// Behind it, batch by batch, the children's rows get what readers derive for them anyway. The row of cascades holds the
// place that was reached and goes with the last batch, so a crash costs nothing but the batch that it cut.

// CascadeBatch is a part of the children of one parent.
type CascadeBatch struct {
	LiveRuns []string // of children that are hidden

	of       pgq.Cascade
	next     *Position // nil: nothing follows
	tasks    []caughtUp
	projects []caughtUp
}

// caughtUp is what a child's row becomes, and what it was.
type caughtUp struct {
	ID                 string          `json:"id"`
	Revision           int64           `json:"revision"`
	Transitions        json.RawMessage `json:"transitions"`
	UpdatedAt          *time.Time      `json:"updated_at"`
	ProductArchive     int             `json:"product_archive"`
	ProjectArchive     int             `json:"project_archive"`
	SeenProductArchive int32           `json:"seen_product_archive"`
	SeenProjectArchive int32           `json:"seen_project_archive"`
}

// Rows is how many rows the batch changes.
func (b *CascadeBatch) Rows() int { return len(b.tasks) + len(b.projects) }

// announceCascades says that the children of a parent are behind it.
func (tx *Tx) announceCascades(ctx context.Context, parent, id string, all []company.Cascade, before int, children ...string) error {
	if len(all) <= before {
		return nil
	}
	for _, child := range children {
		err := tx.q.AnnounceCascade(ctx, pgq.AnnounceCascadeParams{Parent: parent, ParentID: id, Child: child, CreatedAt: all[len(all)-1].At})
		if err != nil {
			return err
		}
	}
	return nil
}

// CascadeBatch returns the next batch, of at most so many children, of the parent that was changed first among those
// changed before a moment; nil when there is none.
func (db *DB) CascadeBatch(ctx context.Context, before time.Time, most int) (*CascadeBatch, error) {
	of, err := db.single().OldestCascade(ctx, before)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, unavailable(err)
	}
	p := Page{Limit: most, Number: 1, SortBy: SortCreated, Ascending: true, IncludeArchived: true}
	if of.AfterAt != nil && of.AfterID != nil {
		p.After = &Position{*of.AfterAt, *of.AfterID}
	}
	batch := &CascadeBatch{of: of}
	children := []filter{{of.Parent + "_id", of.ParentID}}
	if of.Child == "project" {
		batch.next, err = laggingRows(ctx, db, projectList, p, children, batch.addProject)
	} else {
		batch.next, err = laggingRows(ctx, db, taskList, p, children, batch.addTask)
	}
	return batch, err
}

// laggingRows reads a batch of children, hidden ones included, and returns the place of its last one when it is full.
func laggingRows[R placed](ctx context.Context, db *DB, l listQuery, p Page, children []filter, add func(R) error) (*Position, error) {
	l.visible = ""
	statement, args := l.rows(p, children)
	found, err := db.pool.Query(ctx, statement, args...)
	if err != nil {
		return nil, unavailable(err)
	}
	rows, err := pgx.CollectRows(found, pgx.RowToStructByPos[R])
	if err != nil {
		return nil, unavailable(err)
	}
	for _, r := range rows {
		if err := add(r); err != nil {
			return nil, err
		}
	}
	if len(rows) < p.Limit {
		return nil, nil
	}
	at, _, id := rows[len(rows)-1].place()
	return &Position{at, id}, nil
}

func (b *CascadeBatch) addTask(r taskRow) error {
	t, err := r.inPlace()
	if err != nil {
		return err
	}
	if t.LiveRunID != nil && (t.ArchivedAt != nil || t.ProjectArchived || t.ProductArchived) {
		b.LiveRuns = append(b.LiveRuns, *t.LiveRunID)
	}
	if t.ProductArchive == int(r.ProductArchive) && t.ProjectArchive == int(r.ProjectArchive) {
		return nil
	}
	b.tasks = append(b.tasks, caughtUp{
		ID: t.ID, Revision: t.Revision, Transitions: encodeList(t.Transitions), UpdatedAt: t.UpdatedAt,
		ProductArchive: t.ProductArchive, ProjectArchive: t.ProjectArchive,
		SeenProductArchive: r.ProductArchive, SeenProjectArchive: r.ProjectArchive,
	})
	return nil
}

func (b *CascadeBatch) addProject(r projectRow) error {
	p, err := r.counted()
	if err != nil || p.ProductArchive == int(r.ProductArchive) {
		return err
	}
	b.projects = append(b.projects, caughtUp{
		ID: p.ID, Revision: p.Revision, Transitions: encodeList(p.Transitions), UpdatedAt: p.UpdatedAt,
		ProductArchive: p.ProductArchive, SeenProductArchive: r.ProductArchive,
	})
	return nil
}

// SaveCascadeBatch writes a batch, ErrChanged when the parent was changed meanwhile or another sweep was faster. A child
// that was written meanwhile holds its parents' cascades already.
func (tx *Tx) SaveCascadeBatch(ctx context.Context, b *CascadeBatch) error {
	var n int64
	var err error
	of := b.of
	if b.next == nil {
		n, err = tx.q.EndCascade(ctx, pgq.EndCascadeParams{
			Parent: of.Parent, ParentID: of.ParentID, Child: of.Child, CreatedAt: of.CreatedAt, SeenAfterID: of.AfterID,
		})
	} else {
		n, err = tx.q.MoveCascade(ctx, pgq.MoveCascadeParams{
			Parent: of.Parent, ParentID: of.ParentID, Child: of.Child, CreatedAt: of.CreatedAt, SeenAfterID: of.AfterID,
			AfterAt: &b.next.At, AfterID: &b.next.ID,
		})
	}
	if err := changed(n, err); err != nil {
		return err
	}
	if len(b.projects) > 0 {
		if err := tx.q.CatchUpProjects(ctx, encode(b.projects)); err != nil {
			return err
		}
	}
	if len(b.tasks) == 0 {
		return nil
	}
	return tx.q.CatchUpTasks(ctx, encode(b.tasks))
}
