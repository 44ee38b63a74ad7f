package app

import (
	"context"

	"companyos/shared/company"
	"companyos/shared/routine"
	"companyos/shared/store"
	"companyos/shared/task"
)

// RoutineEdit is an edit of a Routine. A policy that is set and nil takes the right to accept away.
type RoutineEdit struct {
	Name         task.Opt[string]
	ExecutorType task.Opt[task.ExecutorKind]
	ExecutorID   task.Opt[string]
	Instructions task.Opt[string]
	CronExpr     task.Opt[string] // null: on demand
	Timezone     task.Opt[string]
	Policy       task.Opt[PolicyEdit]
}

// PolicyEdit is a policy, or none.
type PolicyEdit struct{ Policy *routine.Policy }

// payload says that the edit changes what the Routine does, so that it acts by its editor's rights from then on.
func (e *RoutineEdit) payload() bool {
	return e.ExecutorType.Set || e.ExecutorID.Set || e.Instructions.Set || e.Policy.Set
}

func (e *RoutineEdit) empty() bool {
	return !e.payload() && !e.Name.Set && !e.CronExpr.Set && !e.Timezone.Set
}

func (e *RoutineEdit) nulls() bool {
	return null(e.Name) || null(e.ExecutorType) || null(e.ExecutorID) || null(e.Instructions) || null(e.Timezone) || null(e.Policy)
}

func null[T any](o task.Opt[T]) bool { return o.Set && o.Value == nil }

// EditRoutine changes a Routine. KindNotFound for a missing one or one of an archived Product, KindInvalid for a value that
// breaks a rule, KindForbidden where what it does is changed without the permission to run its executor or to grant its
// policy, KindConflict for a name that its creator has given already.
func (c *Company) EditRoutine(ctx context.Context, by task.Caller, id string, e RoutineEdit) (routine.Routine, error) {
	return c.changeRoutine(ctx, id, func(_ context.Context, _ *store.Tx, r routine.Routine, p company.Product) (routine.Routine, error) {
		switch {
		case p.ArchivedAt != nil:
			return r, task.NotFound("Product")
		case e.nulls():
			return r, task.Invalidf("routine_null", "Leave out what stays as it is; only cron_expr may be null.", "Routine fields cannot be null")
		case e.empty():
			return r, errUnchanged
		}
		return c.edited(r, by, e)
	})
}

func (c *Company) edited(r routine.Routine, by task.Caller, e RoutineEdit) (routine.Routine, error) {
	if e.Name.Set {
		r.Name = r.ProductID + "." + *e.Name.Value
	}
	r.ExecutorType, r.ExecutorID = *e.ExecutorType.Or(&r.ExecutorType), *e.ExecutorID.Or(&r.ExecutorID)
	r.Instructions, r.Timezone = *e.Instructions.Or(&r.Instructions), *e.Timezone.Or(&r.Timezone)
	r.CronExpr = e.CronExpr.Or(r.CronExpr)
	if e.Policy.Set {
		r.Policy = e.Policy.Value.Policy
	}
	if e.payload() {
		if err := c.checkRoutine(&r, by); err != nil {
			return r, err
		}
		r.Authority = *by.Snapshot()
	}
	if err := routine.CheckName("ScheduleUpdate", r.Name); err != nil {
		return r, err
	}
	r.UpdatedAt = c.now()
	if !e.CronExpr.Set && !e.Timezone.Set {
		return r, nil
	}
	if _, err := routine.ParseZone(r.Timezone); err != nil {
		return r, err
	}
	return r.Scheduled(r.UpdatedAt)
}
