package wire

import (
	"context"
	"net/http"
)

// CreateTask proposes a Task.
func (c *Client) CreateTask(ctx context.Context, in TaskCreate) (Task, error) {
	return call[Task](ctx, c, http.MethodPost, "/company/tasks", in)
}

// Task reads a Task.
func (c *Client) Task(ctx context.Context, id string) (Task, error) {
	return call[Task](ctx, c, http.MethodGet, at("/company/tasks/%s", id), nil)
}

// Tasks lists Tasks.
func (c *Client) Tasks(ctx context.Context, l List) (Page[Task], error) {
	return call[Page[Task]](ctx, c, http.MethodGet, "/company/tasks"+l.query(), nil)
}

// UpdateTask changes a Task in Backlog.
func (c *Client) UpdateTask(ctx context.Context, id string, in TaskUpdate) (Task, error) {
	return call[Task](ctx, c, http.MethodPatch, at("/company/tasks/%s", id), in)
}

// MoveTask makes a transition of a Task.
func (c *Client) MoveTask(ctx context.Context, id string, in TaskTransition) (Task, error) {
	return call[Task](ctx, c, http.MethodPost, at("/company/tasks/%s/transitions", id), in)
}

// ArchiveTask archives a Task; a live run is ended.
func (c *Client) ArchiveTask(ctx context.Context, id string) error {
	_, err := call[struct{}](ctx, c, http.MethodDelete, at("/company/tasks/%s", id), nil)
	return err
}

// RestoreTask undoes ArchiveTask.
func (c *Client) RestoreTask(ctx context.Context, id string) (Task, error) {
	return call[Task](ctx, c, http.MethodPost, at("/company/tasks/%s/restore", id), nil)
}

// StartRun starts an attempt. The same attempt again answers the same run.
func (c *Client) StartRun(ctx context.Context, taskID string, in TaskRunCreate) (Started, error) {
	return call[Started](ctx, c, http.MethodPost, at("/company/tasks/%s/runs", taskID), in)
}

// Runs lists a Task's runs, oldest first.
func (c *Client) Runs(ctx context.Context, taskID string, l List) (Page[Run], error) {
	return call[Page[Run]](ctx, c, http.MethodGet, at("/company/tasks/%s/runs", taskID)+l.query(), nil)
}

// Run reads a run.
func (c *Client) Run(ctx context.Context, id string) (Run, error) {
	return call[Run](ctx, c, http.MethodGet, at("/company/runs/%s", id), nil)
}

// CancelRun ends a run. It returns before a sandbox has stopped.
func (c *Client) CancelRun(ctx context.Context, id string) error {
	_, err := call[struct{}](ctx, c, http.MethodPost, at("/company/runs/%s/cancel", id), nil)
	return err
}
