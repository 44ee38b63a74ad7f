package app

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/google/uuid"

	"companyos/shared/company"
	"companyos/shared/store"
	"companyos/shared/task"
)

// TaskInput is a new Task. The executor is a proposal: nobody checks that it exists.
type TaskInput struct {
	ProductID    string
	ProjectID    string
	Title        string
	Brief        *string
	Evidence     []json.RawMessage
	ExecutorType *task.ExecutorKind
	ExecutorID   *string
}

// TaskEdit is an edit of a Task in backlog.
type TaskEdit struct {
	Title        task.Opt[string]
	Brief        task.Opt[string]
	ProjectID    task.Opt[string]
	Evidence     task.Opt[[]json.RawMessage]
	ExecutorType task.Opt[task.ExecutorKind]
	ExecutorID   task.Opt[string]
}

func (e TaskEdit) empty() bool {
	return !e.Title.Set && !e.Brief.Set && !e.ProjectID.Set && !e.Evidence.Set && !e.ExecutorType.Set && !e.ExecutorID.Set
}

// CreateTask adds a Task in backlog. KindNotFound for a parent that is missing or archived, KindInvalid for a Project of
// another Product or a finished one.
func (c *Company) CreateTask(ctx context.Context, by task.Caller, in TaskInput) (store.TaskInPlace, error) {
	t := task.Task{
		ID: uuid.NewString(), ProductID: in.ProductID, ProjectID: in.ProjectID, Title: in.Title, Brief: in.Brief, Evidence: in.Evidence,
		Origin: task.OriginHuman, Status: task.StatusBacklog, UserID: &by.ID, ExecutorType: in.ExecutorType, ExecutorID: in.ExecutorID,
		SessionID: uuid.NewString(), CreatedAt: c.now(),
	}
	var out store.TaskInPlace
	err := c.create(ctx, by, func() any { return out }, func(ctx context.Context, tx *store.Tx) (err error) {
		out, err = addTask(ctx, tx, t)
		return err
	})
	return out, finishedProject(err)
}

// addTask puts a new Task into its Product and Project, which have to be open.
func addTask(ctx context.Context, tx *store.Tx, t task.Task) (store.TaskInPlace, error) {
	product, err := openProduct(ctx, tx, t.ProductID)
	if err != nil {
		return store.TaskInPlace{}, err
	}
	project, err := openProject(ctx, tx, t.ProductID, t.ProjectID)
	if err != nil {
		return store.TaskInPlace{}, err
	}
	t.ProductArchive, t.ProjectArchive = len(product.Cascades), len(project.Cascades)
	return store.TaskInPlace{Task: t, ProjectStatus: project.Status}, tx.InsertTask(ctx, &t)
}

// openProject is the Project that open work is put into.
func openProject(ctx context.Context, tx *store.Tx, productID, projectID string) (company.Project, error) {
	project, product, err := tx.Project(ctx, projectID)
	switch {
	case err != nil:
		return project, err
	case project.ArchivedAt != nil || product.ArchivedAt != nil:
		return project, task.NotFound("Project")
	case project.ProductID != productID:
		return project, task.Invalidf("project_elsewhere", "Choose a Project of the Task's Product.", "Task and Project must belong to the same Product")
	case !project.Status.Open():
		return project, errFinishedProject()
	}
	return project, nil
}

// finishedProject is the error of a Task that was not inserted because its Project had been finished meanwhile.
func finishedProject(err error) error {
	if errors.Is(err, store.ErrChanged) {
		return errFinishedProject()
	}
	return err
}

func errFinishedProject() error {
	return task.Invalidf("project_finished", "Choose a proposed or active Project.", "Cannot add open work to a completed or cancelled Project")
}

// Task returns a Task. KindNotFound when there is none, or it is archived and archived ones are not wanted.
func (c *Company) Task(ctx context.Context, id string, includeArchived bool) (store.TaskInPlace, error) {
	t, err := c.DB.Task(ctx, id)
	if err == nil && hidden(t) && !includeArchived {
		return store.TaskInPlace{}, task.NotFound("Task")
	}
	return t, err
}

func hidden(t store.TaskInPlace) bool {
	return t.ArchivedAt != nil || t.ProductArchived || t.ProjectArchived
}

// Tasks returns one page and the number of all.
func (c *Company) Tasks(ctx context.Context, page store.Page, f store.TaskFilter) (store.List[store.TaskInPlace], error) {
	return c.DB.Tasks(ctx, page, f)
}

// EditTask changes a Task in backlog. An edit of nothing is accepted in every status and changes nothing.
func (c *Company) EditTask(ctx context.Context, id string, e TaskEdit) (store.TaskInPlace, error) {
	err := c.changeTask(ctx, id, func(ctx context.Context, tx *store.Tx, t task.Task) (task.Task, error) {
		switch {
		case e.empty():
			return t, errUnchanged
		case t.Status != task.StatusBacklog:
			return t, task.Conflictf("not_in_backlog", "Move the Task to backlog first.", "Accepted task scope requires a return to Backlog")
		}
		if e.ProjectID.Set {
			if e.ProjectID.Value == nil {
				return t, task.Invalidf("project_required", "Send the id of a Project.", "A Task requires a Project")
			}
			project, err := openProject(ctx, tx, t.ProductID, *e.ProjectID.Value)
			if err != nil {
				return t, err
			}
			t.ProjectID, t.ProjectArchive = project.ID, len(project.Cascades)
		}
		t.Title, t.Brief = *e.Title.Or(&t.Title), e.Brief.Or(t.Brief)
		t.ExecutorType, t.ExecutorID = e.ExecutorType.Or(t.ExecutorType), e.ExecutorID.Or(t.ExecutorID)
		if e.Evidence.Set {
			t.Evidence = nil
			if e.Evidence.Value != nil {
				t.Evidence = *e.Evidence.Value
			}
		}
		t.UpdatedAt = ptr(c.now())
		return t, nil
	})
	if errors.Is(err, store.ErrChanged) {
		err = task.Conflictf("task_changed", "Read the Task and edit it again.", "Task changed while updating")
	}
	if err != nil {
		return store.TaskInPlace{}, err
	}
	return c.DB.Task(ctx, id)
}

// ArchiveTask archives a Task in whatever status; a live run is cancelled.
func (c *Company) ArchiveTask(ctx context.Context, id string) error {
	return c.changeLiveTask(ctx, id, true, func(t task.Task) (task.Task, error) {
		now := c.now()
		t.ArchivedAt, t.UpdatedAt = &now, &now
		return t, nil
	}, nil)
}

// RestoreTask undoes ArchiveTask. KindConflict when the Task is not archived by itself or a parent is archived.
func (c *Company) RestoreTask(ctx context.Context, id string) (store.TaskInPlace, error) {
	err := c.DB.Transact(ctx, func(ctx context.Context, tx *store.Tx) error {
		before, err := tx.Task(ctx, id)
		if err != nil {
			return err
		}
		if !hidden(before) {
			return task.Conflictf("not_archived", "Nothing is to be done.", "Task is not archived")
		}
		if err := openParent(before.ProductArchived, before.ProjectArchived); err != nil {
			return err
		}
		after := before.Task
		after.ArchivedAt, after.UpdatedAt = nil, ptr(c.now())
		return tx.SaveTask(ctx, &before.Task, &after)
	})
	if err != nil {
		return store.TaskInPlace{}, err
	}
	return c.DB.Task(ctx, id)
}

// changeTask reads a Task that is not archived, lets change decide and writes the answer.
func (c *Company) changeTask(ctx context.Context, id string, change func(context.Context, *store.Tx, task.Task) (task.Task, error)) error {
	err := c.DB.Transact(ctx, func(ctx context.Context, tx *store.Tx) error {
		before, err := tx.Task(ctx, id)
		if err != nil {
			return err
		}
		if hidden(before) {
			return task.NotFound("Task")
		}
		after, err := change(ctx, tx, before.Task)
		if err != nil {
			return err
		}
		return tx.SaveTask(ctx, &before.Task, &after)
	})
	if errors.Is(err, errUnchanged) {
		return nil
	}
	return err
}
