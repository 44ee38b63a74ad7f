package wire

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
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

// MoveTask makes a transition of a Task.
func (c *Client) MoveTask(ctx context.Context, id string, in TaskTransition) (Task, error) {
	return call[Task](ctx, c, http.MethodPost, at("/company/tasks/%s/transitions", id), in)
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

// RunEvents returns the events of a run after a sequence number. When there is none it waits up to so many seconds, at most
// 20, for the first.
func (c *Client) RunEvents(ctx context.Context, id string, after int64, wait int) (RunEvents, error) {
	query := "?after=" + strconv.FormatInt(after, 10) + "&wait=" + strconv.Itoa(wait)
	return call[RunEvents](ctx, c, http.MethodGet, at("/company/runs/%s/events", id)+query, nil)
}

// RunPatch returns the latest saved changes of a run.
func (c *Client) RunPatch(ctx context.Context, id string) ([]byte, error) {
	return c.bytes(ctx, at("/company/runs/%s/patch", id))
}

// RunLog returns what the sandbox of a run printed.
func (c *Client) RunLog(ctx context.Context, id string) ([]byte, error) {
	return c.bytes(ctx, at("/company/runs/%s/log", id))
}

// bytes reads an answer that is no JSON.
func (c *Client) bytes(ctx context.Context, path string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+path, http.NoBody)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	res, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if res.StatusCode >= http.StatusMultipleChoices {
		return nil, problemOf(res, raw)
	}
	return raw, nil
}
