package store

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"companyos/shared/company"
	"companyos/shared/store/internal/pgq"
	"companyos/shared/task"
)

// CountedProject is a Project with what its record counts.
type CountedProject struct {
	company.Project
	Counts            company.TaskCounts
	ProductArchivedAt *time.Time
}

type projectRow struct {
	pgq.Project
	ProductCascades   json.RawMessage
	ProductArchivedAt *time.Time
	Counts            json.RawMessage
}

// Project returns a Project, archived or not. KindNotFound when there is none.
func (db *DB) Project(ctx context.Context, id string) (CountedProject, error) {
	row, err := fetchOne[projectRow](ctx, db, projectList, id)
	if err != nil {
		return CountedProject{}, notFound(err, "Project")
	}
	return row.counted()
}

// ProjectFilter selects Projects; empty fields select all.
type ProjectFilter struct {
	ProductID string
	Status    company.ProjectStatus
}

// Projects returns one page and the number of all.
func (db *DB) Projects(ctx context.Context, p Page, f ProjectFilter) (List[CountedProject], error) {
	var filters []filter
	if f.ProductID != "" {
		filters = append(filters, filter{"product_id", f.ProductID})
	}
	if f.Status != "" {
		filters = append(filters, filter{"status", string(f.Status)})
	}
	return fetchList(ctx, db, projectList, p, filters, projectRow.counted)
}

func (r projectRow) place() (createdAt time.Time, updatedAt *time.Time, id string) {
	return r.CreatedAt, r.UpdatedAt, r.ID
}

func (r projectRow) counted() (c CountedProject, err error) {
	if c.Project, err = decodeProject(r.Project, r.ProductCascades, r.ProductArchivedAt); err != nil {
		return c, err
	}
	counts, err := decodeCounts(r.Counts)
	c.Counts, c.ProductArchivedAt = counts.Tasks, r.ProductArchivedAt
	return c, err
}

// Project reads a Project and its Product inside the transaction. KindNotFound when there is none.
func (tx *Tx) Project(ctx context.Context, id string) (company.Project, company.Product, error) {
	row, err := tx.q.Project(ctx, id)
	if err != nil {
		return company.Project{}, company.Product{}, notFound(err, "Project")
	}
	product, err := decodeProduct(row.Product)
	if err != nil {
		return company.Project{}, company.Product{}, err
	}
	project, err := decodeProject(row.Project, row.Product.Cascades, row.Product.ArchivedAt)
	return project, product, err
}

// InsertProject adds a Project.
func (tx *Tx) InsertProject(ctx context.Context, p *company.Project) error {
	err := tx.q.InsertProject(ctx, pgq.InsertProjectParams{
		ID: p.ID, ProductID: p.ProductID, Name: p.Name, Outcome: p.Outcome, Status: string(p.Status), TargetDate: p.TargetDate,
		UserID: p.UserID, Transitions: encodeList(p.Transitions), OpenID: openID(p), Cascades: encodeList(p.Cascades),
		ProductArchive: int32(p.ProductArchive), Revision: p.Revision, CreatedAt: p.CreatedAt, UpdatedAt: p.UpdatedAt,
		ArchivedAt: ownArchivedAt(p.ArchivedAt, p.Transitions),
	})
	if err != nil {
		return err
	}
	return tx.count(ctx, nil, projectKey(p))
}

// SaveProject writes after over before, ErrChanged when before is not what is stored or when the Project would be done
// with an open Task in it.
func (tx *Tx) SaveProject(ctx context.Context, before, after *company.Project) error {
	n, err := tx.q.UpdateProject(ctx, pgq.UpdateProjectParams{
		ID: before.ID, Revision: before.Revision, Name: after.Name, Outcome: after.Outcome, Status: string(after.Status),
		TargetDate: after.TargetDate, Transitions: encodeList(after.Transitions), OpenID: openID(after),
		Cascades: encodeList(after.Cascades), ProductArchive: int32(after.ProductArchive), UpdatedAt: after.UpdatedAt,
		ArchivedAt: ownArchivedAt(after.ArchivedAt, after.Transitions),
	})
	if err := changed(n, referenced(err)); err != nil {
		return err
	}
	if err := tx.announceCascades(ctx, "project", after.ID, after.Cascades, len(before.Cascades), "task"); err != nil {
		return err
	}
	return tx.count(ctx, projectKey(before), projectKey(after))
}

// openID is what open Tasks refer to, so that the database keeps open work out of a finished Project.
func openID(p *company.Project) *string {
	if p.Status.Open() {
		return &p.ID
	}
	return nil
}

// ActiveTasksOfProject returns the Tasks that keep a Project from being archived, at most limit.
func (tx *Tx) ActiveTasksOfProject(ctx context.Context, id string, limit int) ([]task.Ref, error) {
	rows, err := tx.q.ActiveTasksOfProject(ctx, pgq.ActiveTasksOfProjectParams{ProjectID: id, MaxRows: int32(limit)})
	if err != nil {
		return nil, err
	}
	return convert(rows, func(r pgq.ActiveTasksOfProjectRow) (task.Ref, error) { return task.Ref(r), nil })
}

// OpenTasksOfProject returns the Tasks that keep a Project from being done, at most limit.
func (tx *Tx) OpenTasksOfProject(ctx context.Context, id string, limit int) ([]task.Ref, error) {
	rows, err := tx.q.OpenTasksOfProject(ctx, pgq.OpenTasksOfProjectParams{ProjectID: id, MaxRows: int32(limit)})
	if err != nil {
		return nil, err
	}
	return convert(rows, func(r pgq.OpenTasksOfProjectRow) (task.Ref, error) { return task.Ref(r), nil })
}

func decodeProject(r pgq.Project, productCascades json.RawMessage, productArchivedAt *time.Time) (company.Project, error) {
	p := company.Project{
		ID: r.ID, ProductID: r.ProductID, Name: r.Name, Outcome: r.Outcome, Status: company.ProjectStatus(r.Status),
		TargetDate: r.TargetDate, UserID: r.UserID, ProductArchive: int(r.ProductArchive), Revision: r.Revision,
		CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt, ArchivedAt: r.ArchivedAt,
	}
	product := company.Product{ID: r.ProductID, ArchivedAt: productArchivedAt}
	err := errors.Join(json.Unmarshal(r.Transitions, &p.Transitions), json.Unmarshal(r.Cascades, &p.Cascades),
		json.Unmarshal(productCascades, &product.Cascades))
	return company.ApplyToProject(p, product), err
}
