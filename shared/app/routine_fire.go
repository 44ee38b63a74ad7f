package app

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"companyos/shared/company"
	"companyos/shared/executor"
	"companyos/shared/routine"
	"companyos/shared/store"
	"companyos/shared/task"
)

// TriggerRoutine runs a Routine now, by the caller's rights, and answers with the recorded run at once; the run is skipped
// while the one before has not ended. KindNotFound for a missing Routine or one of an archived Product, KindForbidden
// without the permission to run its executor and, where it may accept work, for anybody but the person who granted that or
// an administrator, KindConflict for a paused Routine.
func (c *Company) TriggerRoutine(ctx context.Context, by task.Caller, id string) (routine.Run, error) {
	if c.Work == nil {
		return routine.Run{}, task.Unavailable("scheduler_off", "Scheduler is not running", nil)
	}
	return c.fire(ctx, id, func(r *routine.Routine, p *company.Product) (task.Authorization, string, error) {
		if p.ArchivedAt != nil {
			return task.Authorization{}, "", task.NotFound("Product")
		}
		if err := by.RequireRun(r.ExecutorType, r.ExecutorID); err != nil {
			return task.Authorization{}, "", err
		}
		if r.Policy != nil && (r.Grant == nil || r.Grant.PrincipalID != by.ID) && !by.Allows(task.AdminScope) {
			return task.Authorization{}, "", &task.Error{
				Kind: task.KindForbidden, Code: "not_the_granter", Detail: "Only the user who authorized automatic acceptance may run this Routine",
				Remedy: "Ask that person, or wait for the schedule.",
			}
		}
		if !r.Enabled {
			return task.Authorization{}, "", task.Conflictf("routine_paused", "Resume the Routine first.", "Routine is paused")
		}
		return *by.Snapshot(), by.ID, nil
	}, "")
}

// fireBatch is how many due Routines one FireDue fires. More than that wait for the next.
const fireBatch = 200

// FireDue fires every Routine whose time has come, each once however many of its times were missed, and repairs firings
// that a lost message or a lost worker left behind. Anybody may call it at any time, any number of times.
func (c *Company) FireDue(ctx context.Context) error {
	ids, err := c.DB.DueRoutines(ctx, fireBatch)
	if err != nil {
		return err
	}
	var failed []error
	for _, id := range ids {
		if err := c.fireDue(ctx, id); err != nil && !errors.Is(err, errUnchanged) {
			failed = append(failed, err)
		}
	}
	return errors.Join(append(failed, c.repairFirings(ctx))...)
}

func (c *Company) fireDue(ctx context.Context, id string) error {
	seen, err := c.DB.Routine(ctx, id)
	if err != nil {
		return err
	}
	problem := ""
	if err := c.mayRun(ctx, &seen); err != nil {
		problem = c.reason(ctx, err)
	}
	_, err = c.fire(ctx, id, func(r *routine.Routine, p *company.Product) (task.Authorization, string, error) {
		now := c.now()
		if !r.Enabled || r.NextRunAt == nil || r.NextRunAt.After(now) {
			return r.Authority, "", errUnchanged // somebody else fired it
		}
		moved, err := r.Scheduled(now)
		if err != nil {
			return r.Authority, "", err
		}
		r.NextRunAt = moved.NextRunAt
		if p.ArchivedAt != nil {
			r.Enabled, r.DisabledReason = false, ptr(routine.DisabledProductArchived)
		}
		return r.Authority, "", nil
	}, problem)
	return err
}

// mayRun says whether the executor of a Routine can run now, by the rights that the Routine has.
func (c *Company) mayRun(ctx context.Context, r *routine.Routine) error {
	if _, err := c.firingExecutor(r); err != nil {
		return err
	}
	return c.mayFire(ctx, r, r.Authority)
}

// mayFire says whether a Routine may run by these rights now. KindForbidden otherwise.
func (c *Company) mayFire(ctx context.Context, r *routine.Routine, by task.Authorization) error {
	a, err := c.authorityOf(ctx, by)
	if err != nil {
		return err
	}
	if a.disabled {
		return errOwnerDisabled()
	}
	return a.requireRun(r.ExecutorType, r.ExecutorID)
}

// firingExecutor is the executor of a Routine, if this deployment can run it. It runs as plain work: without a sandbox.
func (c *Company) firingExecutor(r *routine.Routine) (executor.Executor, error) {
	if err := c.routineExecutor(r.ExecutorType, r.ExecutorID); err != nil {
		return executor.Executor{}, err
	}
	ex, known := c.Executors.Registry().Lookup(r.ExecutorType, r.ExecutorID)
	switch {
	case !known:
		return ex, task.Conflictf("executor_unknown", "Choose another executor.", "Routine executor is missing from the registry")
	case ex.Sandboxed():
		return ex, task.Conflictf("executor_sandboxed", "Choose an executor without a sandbox.", "A Routine runs without a sandbox, and its executor needs one")
	}
	return ex, broken(executor.CheckStart(ex))
}

// startWithin is how long a firing may wait for a worker.
const startWithin = time.Hour

// fire records a firing in one transaction with what it does to the Routine, and wakes its worker. decide says by whose
// rights it runs and who asked for it, and may change the Routine. problem is what keeps it from running, empty for
// nothing.
func (c *Company) fire(ctx context.Context, id string, decide func(*routine.Routine, *company.Product) (task.Authorization, string, error), problem string) (routine.Run, error) {
	now := c.now()
	made := routine.Run{
		ID: routine.NewRunID(now, uuid.NewString()), RunID: uuid.NewString(), SessionID: uuid.NewString(), StartUntil: now.Add(startWithin), TriggeredAt: now,
	}
	var run routine.Run
	_, err := c.changeRoutine(ctx, id, func(ctx context.Context, tx *store.Tx, r routine.Routine, p company.Product) (routine.Routine, error) {
		authority, by, err := decide(&r, &p)
		if err != nil {
			return r, err
		}
		trouble := problem
		if p.ArchivedAt != nil {
			trouble = routine.ErrorProductArchived
		}
		run = made
		run.RoutineID, run.ProductID, run.Message, run.Authority, run.UserID = r.ID, r.ProductID, r.Message(), authority, nonEmpty(by)
		r, run = routine.Fired(r, run, trouble, now)
		return r, tx.InsertRoutineRun(ctx, &run)
	})
	if err != nil || run.Status != routine.StatusRunning {
		return run, err
	}
	if err := c.send(ctx, run.RunID, false, 0); err != nil {
		c.Log.WarnContext(ctx, "a Routine's run waits for the next sweep", "routine_id", id, "run_id", run.RunID, "error", err)
	}
	return run, nil
}

func nonEmpty(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// repairAfter is how old a firing is that nobody works on before its message counts as lost.
const repairAfter = time.Minute

// repairFirings ends the firings whose worker is gone, and wakes the workers of those that wait.
func (c *Company) repairFirings(ctx context.Context) error {
	now, err := c.DB.Now(ctx)
	if err != nil {
		return err
	}
	runs, err := c.DB.RunningRoutineRuns(ctx, now.Add(-repairAfter), fireBatch)
	if err != nil {
		return err
	}
	var failed []error
	for _, run := range runs {
		if problem := run.Overdue(now); problem != "" {
			failed = append(failed, c.endFiring(ctx, run, run.ClaimedBy, routine.StatusFailed, problem, nil))
		} else if run.ClaimedBy == "" {
			failed = append(failed, c.send(ctx, run.RunID, false, 0))
		}
	}
	return errors.Join(failed...)
}

// endFiring ends a firing that a worker holds, and frees its Routine.
func (c *Company) endFiring(ctx context.Context, run routine.Run, worker string, status routine.Status, problem string, output []byte) error {
	now := c.now()
	_, err := c.changeRoutine(ctx, run.RoutineID, func(ctx context.Context, tx *store.Tx, r routine.Routine, _ company.Product) (routine.Routine, error) {
		present, ok, err := tx.RoutineRun(ctx, run.RunID)
		if err != nil || !ok {
			return r, err
		}
		after, ended, ok := routine.Ended(r, present, worker, status, problem, output, now)
		if !ok {
			return r, errUnchanged
		}
		return after, tx.SaveRoutineRun(ctx, &present, &ended)
	})
	if errors.Is(err, store.ErrChanged) {
		return nil
	}
	return err
}

// reason is a failure as people may read it: never an internal text.
func (c *Company) reason(ctx context.Context, err error) string {
	if refused, ok := errors.AsType[*routine.Refusal](err); ok {
		return refused.Reason
	}
	if e, ok := errors.AsType[*task.Error](err); ok && e.Kind != task.KindInternal {
		return e.Detail
	}
	c.Log.ErrorContext(ctx, "the automation met an error", "error", err)
	return "Internal server error"
}
