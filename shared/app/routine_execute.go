package app

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/google/uuid"

	"companyos/shared/company"
	"companyos/shared/executor"
	"companyos/shared/routine"
	"companyos/shared/store"
	"companyos/shared/task"
)

// stageRoutine is what the input of a Routine's run calls itself.
const stageRoutine = "company_routine"

// executeRoutine works on a firing that waits. It is worked on once: one whose worker was lost is ended at the end of its
// lease, never begun again. An unknown run is dropped.
func (c *Company) executeRoutine(ctx context.Context, runID string, work Runner) error {
	worker := uuid.NewString()
	run, ok, err := c.beginFiring(ctx, runID, worker)
	if err != nil {
		return err
	}
	if !ok {
		if known, err := c.fireWoken(ctx, runID); known || err != nil {
			return err
		}
		c.Log.InfoContext(ctx, "a message names an unknown run, or one that is another's", "run_id", runID)
		return nil
	}
	r, err := c.DB.Routine(ctx, run.RoutineID)
	if err != nil {
		return err
	}
	ex, problem := c.firing(ctx, &r, &run)
	if problem != "" {
		return c.endFiring(ctx, run, worker, routine.StatusFailed, problem, nil)
	}
	tools := &RoutineTools{c: c, routine: r, run: run}
	outcome, err := c.attemptRoutine(ctx, &r, &run, ex, tools, work)
	if err != nil {
		return err
	}
	status, problem := routine.StatusSuccess, ""
	switch {
	case outcome.State != task.StateCompleted:
		status, problem = routine.StatusFailed, outcome.Ended.Message
	case tools.failure() != "":
		status, problem = routine.StatusFailed, tools.failure()
	}
	output, err := json.Marshal(map[string]string{"content": outcome.Content, "content_type": task.ContentType})
	if err != nil {
		return err
	}
	// What was done is recorded although the process is being stopped.
	return c.endFiring(context.WithoutCancel(ctx), run, worker, status, problem, output)
}

// beginFiring gives a firing to this worker; ok is false when it is another's, has ended or is unknown.
func (c *Company) beginFiring(ctx context.Context, runID, worker string) (run routine.Run, ok bool, err error) {
	now, err := c.DB.Now(ctx)
	if err != nil {
		return run, false, err
	}
	err = c.DB.Transact(ctx, func(ctx context.Context, tx *store.Tx) error {
		seen, known, err := tx.RoutineRun(ctx, runID)
		if err != nil || !known {
			return err
		}
		if run, ok = seen.Begun(worker, c.ExecuteTimeout, now); !ok {
			return nil
		}
		return tx.SaveRoutineRun(ctx, &seen, &run)
	})
	if errors.Is(err, store.ErrChanged) {
		return run, false, nil
	}
	return run, ok, err
}

// firing looks again at what was looked at when the run was recorded: the Product, the executor, and the rights.
func (c *Company) firing(ctx context.Context, r *routine.Routine, run *routine.Run) (executor.Executor, string) {
	ex, err := c.firingExecutor(r)
	if err == nil {
		err = c.mayFire(ctx, r, run.Authority)
	}
	if err == nil {
		_, err = c.Product(ctx, r.ProductID, false)
		if task.KindOf(err) == task.KindNotFound {
			return ex, routine.ErrorProductArchived
		}
	}
	if err != nil {
		return ex, c.reason(ctx, err)
	}
	return ex, ""
}

// attemptRoutine does the work itself, within the run limit.
func (c *Company) attemptRoutine(ctx context.Context, r *routine.Routine, run *routine.Run, ex executor.Executor, tools *RoutineTools, work Runner) (task.Outcome, error) {
	input, err := c.routineInput(ctx, r, run, ex)
	if err != nil {
		return task.Outcome{}, err
	}
	limit := min(ex.Limits.Run, c.ExecuteTimeout-leaseMargin)
	working, cancel := context.WithTimeoutCause(ctx, limit, errLimit)
	defer cancel()
	outcome := guarded(working, work, Job{
		Run: task.Run{
			ID: run.RunID, TaskID: run.RunID, ProductID: run.ProductID, Attempt: 1, SessionID: run.SessionID, UserID: run.UserID,
			StartedBy: run.UserID, ExecutorType: ex.Kind, ExecutorID: ex.ID, State: task.StateRunning, CreatedAt: run.TriggeredAt,
		},
		Executor: ex, Agents: c.Executors.Registry().AgentsOf(ex), Input: input, Routine: tools, Secrets: c.Secrets,
		Earlier: func(context.Context) (Conversation, error) { return Conversation{}, nil }, // each firing is a session of its own
	})
	if errors.Is(context.Cause(working), errLimit) && outcome.State != task.StateCompleted {
		return timedOut(outcome, limit), nil
	}
	outcome.Content, outcome.Ended.Message = cutContent(clean(outcome.Content)), clean(outcome.Ended.Message)
	return outcome, nil
}

// routineInput is what the executor of a Routine is given: its message and the playbook.
func (c *Company) routineInput(ctx context.Context, r *routine.Routine, run *routine.Run, ex executor.Executor) ([]byte, error) {
	pages, err := c.DB.InputPages(ctx, r.ProductID, maxInput)
	if err != nil {
		return nil, err
	}
	in := Input{
		Brief: &run.Message, Wiki: []InputPage{}, Evidence: []json.RawMessage{}, Script: ex.Fixture,
		ExecutionContext: ExecutionContext{Stage: stageRoutine, TaskID: run.RunID, Instructions: r.Message(), Attempt: 1},
	}
	size := 0
	for _, p := range pages {
		if size += len(p.Content); size > maxInput {
			break // a Routine goes on without the pages that are too many; its tools read them
		}
		namespace := "product"
		if p.Namespace == company.CompanyNamespace {
			namespace = company.CompanyNamespace
		}
		in.Wiki = append(in.Wiki, InputPage{namespace, p.Path, p.Content})
	}
	return json.Marshal(in)
}
