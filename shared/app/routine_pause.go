package app

import (
	"context"

	"companyos/shared/company"
	"companyos/shared/routine"
	"companyos/shared/store"
	"companyos/shared/task"
)

// PauseRoutine stops a Routine from running until it is resumed, also one of an archived Product. Pausing again is no
// error. What it accepted and nothing has begun yet is taken back at the next tick. KindNotFound for a missing Routine.
func (c *Company) PauseRoutine(ctx context.Context, id string) (routine.Routine, error) {
	return c.changeRoutine(ctx, id, func(_ context.Context, _ *store.Tx, r routine.Routine, _ company.Product) (routine.Routine, error) {
		if !r.Enabled {
			return r, errUnchanged
		}
		r.Enabled, r.UpdatedAt = false, c.now()
		return r, nil
	})
}

// ResumeRoutine lets a Routine run again, from its next occurrence on: what was missed while it was paused is not caught
// up with. KindNotFound for a missing Routine or one of an archived Product, KindInvalid where its executor breaks a rule
// by now, KindForbidden without the permission to run it.
func (c *Company) ResumeRoutine(ctx context.Context, by task.Caller, id string) (routine.Routine, error) {
	return c.changeRoutine(ctx, id, func(ctx context.Context, tx *store.Tx, r routine.Routine, p company.Product) (routine.Routine, error) {
		if p.ArchivedAt != nil {
			return r, task.NotFound("Product")
		}
		if err := c.routineExecutor(r.ExecutorType, r.ExecutorID); err != nil {
			return r, err
		}
		if err := by.RequireRun(r.ExecutorType, r.ExecutorID); err != nil {
			return r, err
		}
		if linked, yes := linkRoutine(p, r.ID); yes {
			if err := tx.SaveProduct(ctx, &p, &linked); err != nil {
				return r, err
			}
		}
		if r.Enabled {
			return r, nil
		}
		r.Enabled, r.DisabledReason, r.UpdatedAt = true, nil, c.now()
		return r.Scheduled(r.UpdatedAt)
	})
}
