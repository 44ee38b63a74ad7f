package app

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"companyos/shared/company"
	"companyos/shared/store"
	"companyos/shared/task"
)

// ProjectInput is a new Project.
type ProjectInput struct {
	ProductID  string
	Name       string
	Outcome    *string
	TargetDate *int64
}

// ProjectEdit is an edit of a Project.
type ProjectEdit struct {
	Name       task.Opt[string]
	Outcome    task.Opt[string]
	TargetDate task.Opt[int64]
}

// CreateProject adds a proposed Project. KindNotFound for a Product that is missing or archived.
func (c *Company) CreateProject(ctx context.Context, by task.Caller, in ProjectInput) (store.CountedProject, error) {
	p := company.Project{
		ID: uuid.NewString(), ProductID: in.ProductID, Name: in.Name, Outcome: in.Outcome, TargetDate: in.TargetDate,
		Status: company.ProjectProposed, UserID: &by.ID, CreatedAt: c.now(),
	}
	record := func() any { return store.CountedProject{Project: p} }
	err := c.create(ctx, by, record, func(ctx context.Context, tx *store.Tx) error {
		return addProject(ctx, tx, &p)
	})
	return store.CountedProject{Project: p}, err
}

// addProject puts a new Project into its Product, which has to be open.
func addProject(ctx context.Context, tx *store.Tx, p *company.Project) error {
	product, err := openProduct(ctx, tx, p.ProductID)
	if err != nil {
		return err
	}
	p.ProductArchive = len(product.Cascades)
	return tx.InsertProject(ctx, p)
}

// Project returns a Project. KindNotFound when there is none, or it is archived and archived ones are not wanted.
func (c *Company) Project(ctx context.Context, id string, includeArchived bool) (store.CountedProject, error) {
	p, err := c.DB.Project(ctx, id)
	if err == nil && (p.ArchivedAt != nil || p.ProductArchivedAt != nil) && !includeArchived {
		return store.CountedProject{}, task.NotFound("Project")
	}
	return p, err
}

// Projects returns one page and the number of all.
func (c *Company) Projects(ctx context.Context, page store.Page, f store.ProjectFilter) (store.List[store.CountedProject], error) {
	return c.DB.Projects(ctx, page, f)
}

// EditProject changes a Project, a finished one too. The last writer wins. An edit of nothing changes nothing.
func (c *Company) EditProject(ctx context.Context, id string, e ProjectEdit) (store.CountedProject, error) {
	return c.changeProject(ctx, id, func(_ context.Context, _ *store.Tx, p company.Project) (company.Project, error) {
		if !e.Name.Set && !e.Outcome.Set && !e.TargetDate.Set {
			return p, errUnchanged
		}
		p.Name, p.Outcome, p.TargetDate = *e.Name.Or(&p.Name), e.Outcome.Or(p.Outcome), e.TargetDate.Or(p.TargetDate)
		p.UpdatedAt = ptr(c.now())
		return p, nil
	})
}

// MoveProject makes a transition. KindConflict when the status forbids it or open Tasks keep the Project from being done.
func (c *Company) MoveProject(ctx context.Context, by task.Caller, id string, target company.ProjectStatus, reason string) (store.CountedProject, error) {
	var seen int64
	moved, err := c.changeProject(ctx, id, func(ctx context.Context, tx *store.Tx, p company.Project) (company.Project, error) {
		if seen != 0 && seen != p.Revision+1 {
			return p, store.ErrChanged
		}
		seen = p.Revision + 1
		if err := p.CheckEdge(target); err != nil {
			return p, err
		}
		if target == company.ProjectDone {
			open, err := tx.OpenTasksOfProject(ctx, id, maxRefs)
			if err != nil {
				return p, err
			}
			if len(open) > 0 {
				return p, company.OpenTasksError(open)
			}
		}
		return p.Moved(target, reason, by.ID, c.now()), nil
	})
	if errors.Is(err, store.ErrChanged) {
		return moved, task.Conflictf("project_changed", "Read the Project and decide again.", "Project changed while transitioning")
	}
	return moved, err
}

// ArchiveProject archives a Project and the Tasks in it. KindConflict while a Task in it is accepted and not finished.
func (c *Company) ArchiveProject(ctx context.Context, id string) error {
	_, err := c.changeProject(ctx, id, func(ctx context.Context, tx *store.Tx, p company.Project) (company.Project, error) {
		active, err := tx.ActiveTasksOfProject(ctx, id, maxRefs)
		if err != nil {
			return p, err
		}
		if len(active) > 0 {
			return p, company.ActiveTasksError(active)
		}
		return p.Archived(c.now()), nil
	})
	return err
}

// RestoreProject undoes ArchiveProject, for the Tasks too that were archived by it. KindConflict when the Project is not
// archived by itself or its Product is archived.
func (c *Company) RestoreProject(ctx context.Context, id string) (store.CountedProject, error) {
	err := c.DB.Transact(ctx, func(ctx context.Context, tx *store.Tx) error {
		before, product, err := tx.Project(ctx, id)
		if err != nil {
			return err
		}
		if before.ArchivedAt == nil {
			return task.Conflictf("not_archived", "Nothing is to be done.", "Project is not archived")
		}
		if err := openParent(product.ArchivedAt != nil, false); err != nil {
			return err
		}
		after := before.Restored(c.now())
		return tx.SaveProject(ctx, &before, &after)
	})
	if err != nil {
		return store.CountedProject{}, err
	}
	return c.DB.Project(ctx, id)
}

// changeProject reads a Project that is not archived, lets change decide and writes the answer.
func (c *Company) changeProject(ctx context.Context, id string, change func(context.Context, *store.Tx, company.Project) (company.Project, error)) (store.CountedProject, error) {
	err := c.DB.Transact(ctx, func(ctx context.Context, tx *store.Tx) error {
		before, product, err := tx.Project(ctx, id)
		if err != nil {
			return err
		}
		if before.ArchivedAt != nil || product.ArchivedAt != nil {
			return task.NotFound("Project")
		}
		after, err := change(ctx, tx, before)
		if err != nil {
			return err
		}
		return tx.SaveProject(ctx, &before, &after)
	})
	if err != nil && !errors.Is(err, errUnchanged) {
		return store.CountedProject{}, err
	}
	return c.DB.Project(ctx, id)
}
