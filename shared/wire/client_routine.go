package wire

import (
	"context"
	"net/http"
)

// CreateRoutine adds a Routine to a Product.
func (c *Client) CreateRoutine(ctx context.Context, in RoutineCreate) (RoutineRecord, error) {
	return call[RoutineRecord](ctx, c, http.MethodPost, "/company/routines", in)
}

// Routine reads a Routine.
func (c *Client) Routine(ctx context.Context, id string) (RoutineRecord, error) {
	return call[RoutineRecord](ctx, c, http.MethodGet, at("/company/routines/%s", id), nil)
}

// UpdateRoutine changes a Routine.
func (c *Client) UpdateRoutine(ctx context.Context, id string, in RoutineUpdate) (RoutineRecord, error) {
	return call[RoutineRecord](ctx, c, http.MethodPatch, at("/company/routines/%s", id), in)
}

// TriggerRoutine runs a Routine now. The answer is the run as it was recorded, not its end.
func (c *Client) TriggerRoutine(ctx context.Context, id string) (ScheduleRun, error) {
	return call[ScheduleRun](ctx, c, http.MethodPost, at("/company/routines/%s/trigger", id), nil)
}

// RoutineRuns lists a Routine's runs, newest first.
func (c *Client) RoutineRuns(ctx context.Context, id string, l List) (Page[ScheduleRun], error) {
	return call[Page[ScheduleRun]](ctx, c, http.MethodGet, at("/company/routines/%s/runs", id)+l.query(), nil)
}
