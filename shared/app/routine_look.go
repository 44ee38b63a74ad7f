package app

import (
	"context"

	"companyos/shared/company"
	"companyos/shared/routine"
	"companyos/shared/store"
	"companyos/shared/task"
)

// looked is how many records a tool lists.
const looked = 200

// Template is the template of the Routine, empty for none.
func (t *RoutineTools) Template() routine.Template {
	if t.routine.Template == nil {
		return ""
	}
	return *t.routine.Template
}

// Projects lists the Product's Projects, the newest first.
func (t *RoutineTools) Projects(ctx context.Context) ([]company.Project, error) {
	if err := t.allow(ctx, "projects:read"); err != nil {
		return nil, t.note(ctx, err)
	}
	found, err := t.c.DB.Projects(ctx, store.Page{Limit: looked, Number: 1}, store.ProjectFilter{ProductID: t.routine.ProductID})
	projects := make([]company.Project, len(found.Rows))
	for i, p := range found.Rows {
		projects[i] = p.Project
	}
	return projects, t.note(ctx, err)
}

// Tasks lists the Product's Tasks, the newest first.
func (t *RoutineTools) Tasks(ctx context.Context) ([]task.Task, error) {
	if err := t.allow(ctx, "tasks:read"); err != nil {
		return nil, t.note(ctx, err)
	}
	found, err := t.c.DB.Tasks(ctx, store.Page{Limit: looked, Number: 1}, store.TaskFilter{ProductID: t.routine.ProductID})
	tasks := make([]task.Task, len(found.Rows))
	for i, r := range found.Rows {
		tasks[i] = r.Task
	}
	return tasks, t.note(ctx, err)
}
