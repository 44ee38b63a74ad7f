package app

import (
	"context"

	"companyos/shared/store"
	"companyos/shared/task"
)

// Run returns a run. KindNotFound when there is none.
func (c *Company) Run(ctx context.Context, id string) (task.Run, error) { return c.DB.Run(ctx, id) }

// RunsOfTask returns one page of a Task's runs, oldest first, and the number of all. KindNotFound for a missing Task.
func (c *Company) RunsOfTask(ctx context.Context, taskID string, page store.Page) ([]task.Run, int64, error) {
	t, total, err := c.DB.TaskWithRuns(ctx, taskID)
	if err != nil {
		return nil, 0, err
	}
	if hidden(t) {
		return nil, 0, task.NotFound("Task")
	}
	runs, err := c.DB.RunsOfTask(ctx, taskID, total, page)
	return runs, total, err
}
