package app

import (
	"context"
	"slices"
	"sync"

	"companyos/shared/company"
	"companyos/shared/routine"
	"companyos/shared/store"
	"companyos/shared/task"
)

// RoutineTools are what the executor of a Routine's run can do beside its own work: propose, tidy up and tell, in the
// Routine's Product alone, by the rights that the run has as far as they still hold. No tool accepts, starts or completes
// anything. A tool that failed fails the run, but for a page that was changed by somebody else and written after all.
type RoutineTools struct {
	c       *Company
	routine routine.Routine
	run     routine.Run

	mu        sync.Mutex
	failed    string // of the first tool that failed
	conflicts map[string]string
}

// ProductID is the Product that the tools are confined to.
func (t *RoutineTools) ProductID() string { return t.routine.ProductID }

// note keeps the first failure of a tool for the run's end.
func (t *RoutineTools) note(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.failed == "" {
		t.failed = t.c.reason(ctx, err)
	}
	return err
}

// failure is what makes the run fail, empty for nothing.
func (t *RoutineTools) failure() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, text := range t.conflicts {
		return text
	}
	return t.failed
}

// allow says whether the run may use a tool that needs these scopes: what it was given, as far as it is held still.
func (t *RoutineTools) allow(ctx context.Context, scopes ...string) error {
	a, err := t.c.authorityOf(ctx, t.run.Authority)
	if err != nil {
		return err
	}
	if err := a.require(scopes...); err != nil {
		return err
	}
	_, err = t.c.Product(ctx, t.routine.ProductID, false)
	return err
}

// Refresh tidies up the Product.
func (t *RoutineTools) Refresh(ctx context.Context) (Refreshed, error) {
	err := t.allow(ctx, "products:read", "projects:read", "projects:delete", "tasks:read", "tasks:delete", "wiki:read", "wiki:write")
	if err != nil {
		return Refreshed{}, t.note(ctx, err)
	}
	out, err := t.c.Refresh(ctx, t.routine.ProductID)
	return out, t.note(ctx, err)
}

// Sources lists the Product's Sources.
func (t *RoutineTools) Sources(ctx context.Context) ([]company.Source, error) {
	if err := t.allow(ctx, "sources:read"); err != nil {
		return nil, t.note(ctx, err)
	}
	sources, _, err := t.c.DB.Sources(ctx, store.Page{Limit: 1000, Number: 1}, t.routine.ProductID)
	return sources, t.note(ctx, err)
}

// ReadSource reads a Source of the Product.
func (t *RoutineTools) ReadSource(ctx context.Context, sourceID string) ([]company.Document, error) {
	if err := t.allow(ctx, "sources:read"); err != nil {
		return nil, t.note(ctx, err)
	}
	read, err := t.c.ReadProductSource(ctx, t.routine.ProductID, sourceID)
	return read, t.note(ctx, err)
}

// Propose adds a Task to Backlog, with what it rests on.
func (t *RoutineTools) Propose(ctx context.Context, p Proposal) (store.TaskInPlace, error) {
	if err := t.allow(ctx, "tasks:write", "sources:read"); err != nil {
		return store.TaskInPlace{}, t.note(ctx, err)
	}
	out, err := t.c.Intake(ctx, t.routine.ID, t.routine.ProductID, t.run.RunID, p)
	return out, t.note(ctx, err)
}

// ProposeProject adds a proposed Project. The same name is the same Project, however often it is proposed.
func (t *RoutineTools) ProposeProject(ctx context.Context, name string, outcome *string) (company.Project, error) {
	if err := t.allow(ctx, "projects:write"); err != nil {
		return company.Project{}, t.note(ctx, err)
	}
	out, err := t.c.proposeProject(ctx, &t.routine, name, outcome)
	return out, t.note(ctx, err)
}

// Summarize writes the Product's summary and delivers it.
func (t *RoutineTools) Summarize(ctx context.Context, narrative string) (Summarized, error) {
	if err := t.allow(ctx, "products:read", "tasks:read", "wiki:read", "wiki:write"); err != nil {
		return Summarized{}, t.note(ctx, err)
	}
	out, err := t.c.Summarize(ctx, t.routine.ProductID, t.run.RunID, narrative)
	return out, t.note(ctx, err)
}

// MoveTask moves a Task of the Product, but never to where a person decides: KindForbidden for ready and done, and for a Task
// of another Product.
func (t *RoutineTools) MoveTask(ctx context.Context, id string, target task.Status, reason string) (store.TaskInPlace, error) {
	moved, err := t.moveTask(ctx, id, target, reason)
	return moved.TaskInPlace, t.note(ctx, err)
}

func (t *RoutineTools) moveTask(ctx context.Context, id string, target task.Status, reason string) (Moved, error) {
	if err := t.allow(ctx, "tasks:write"); err != nil {
		return Moved{}, err
	}
	if target == task.StatusReady || target == task.StatusDone {
		return Moved{}, &task.Error{
			Kind: task.KindForbidden, Code: "routine_decides", Detail: "Routines can propose work but cannot accept or complete it",
			Remedy: "Leave it to a person.",
		}
	}
	there, err := t.c.Task(ctx, id, false)
	if err != nil {
		return Moved{}, err
	}
	if there.ProductID != t.routine.ProductID {
		return Moved{}, &task.Error{
			Kind: task.KindForbidden, Code: "other_product", Detail: "Routine authority is restricted to its configured Product",
			Remedy: "Name a Task of the Routine's Product.",
		}
	}
	by := task.Caller{ID: t.run.Authority.PrincipalID, Scopes: slices.Clone(t.run.Authority.Scopes)}
	return t.c.MoveTask(ctx, id, task.Move{Target: target, Reason: reason, By: by})
}

// Page reads a page of the Product's wiki.
func (t *RoutineTools) Page(ctx context.Context, path string) (company.Page, error) {
	if err := t.allow(ctx, "wiki:read"); err != nil {
		return company.Page{}, t.note(ctx, err)
	}
	page, err := t.c.WikiPage(ctx, t.routine.ProductID, path, 0)
	return page, t.note(ctx, err)
}

// WritePage writes a version of a page of the Product's wiki. One that somebody else changed meanwhile may be read again
// and written once more: then that was no failure.
func (t *RoutineTools) WritePage(ctx context.Context, path, content string, expectedVersion int64) error {
	if err := t.allow(ctx, "wiki:write"); err != nil {
		return t.note(ctx, err)
	}
	by := task.Caller{ID: t.run.Authority.PrincipalID, Scopes: slices.Clone(t.run.Authority.Scopes)}
	_, err := t.c.WritePage(ctx, by, PageWrite{Namespace: t.routine.ProductID, Path: path, Content: content, ExpectedVersion: expectedVersion})
	t.mu.Lock()
	switch {
	case err == nil:
		delete(t.conflicts, path)
	case task.KindOf(err) == task.KindConflict:
		if t.conflicts == nil {
			t.conflicts = map[string]string{}
		}
		t.conflicts[path] = t.c.reason(ctx, err)
		t.mu.Unlock()
		return err
	}
	t.mu.Unlock()
	return t.note(ctx, err)
}

// proposeProject adds a Project under the id that its name gives it, or returns the one that is there.
func (c *Company) proposeProject(ctx context.Context, r *routine.Routine, name string, outcome *string) (company.Project, error) {
	p := company.Project{
		ID: routine.ProposedProjectID(r.ProductID, r.ID, name), ProductID: r.ProductID, Name: name, Outcome: outcome,
		Status: company.ProjectProposed, CreatedAt: c.now(),
	}
	err := c.DB.Transact(ctx, func(ctx context.Context, tx *store.Tx) error {
		there, _, err := tx.Project(ctx, p.ID)
		if err == nil {
			p = there
			return nil
		}
		if task.KindOf(err) != task.KindNotFound {
			return err
		}
		return addProject(ctx, tx, &p)
	})
	return p, err
}
