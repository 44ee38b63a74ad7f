package app

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"companyos/shared/executor"
	"companyos/shared/task"
)

// Job is what a Runner works on.
type Job struct {
	Run      task.Run
	Executor executor.Executor
	Agents   map[string]executor.Executor // of a team: its leader and members by id, as the registry is now
	Input    []byte
	Earlier  func(ctx context.Context) (Conversation, error) // reads what the Task's session holds
	Secrets  func(ctx context.Context, names []string) (map[string]string, error)
	Routine  *RoutineTools // of a Routine's run; nil for a Task's
}

// Runner does the work of a plain run: an agent without a sandbox, a team or a workflow. Its context ends when the run is
// cancelled or its limit passes; it looks at it between steps. It answers with task.OutcomeOf.
type Runner func(ctx context.Context, job Job) task.Outcome

const (
	cancelPoll  = 2 * time.Second
	leaseMargin = 10 * time.Second // what a worker keeps of its lease to settle its run

	firstSettlePause = 200 * time.Millisecond
	maxSettlePause   = 5 * time.Second
)

// errLimit ends a Runner's context at the run limit.
var errLimit = errors.New("the run limit passed")

// Execute is Advance for runs without a sandbox: it does what is due, and works on a run that waits. A run is worked on
// once; one whose worker was lost is settled at the end of its lease, never begun again.
func (c *Company) Execute(ctx context.Context, runID string, work Runner) error {
	run, now, err := c.look(ctx, runID)
	if task.KindOf(err) == task.KindNotFound {
		return c.executeRoutine(ctx, runID, work)
	}
	if err != nil {
		return err
	}
	worker := ""
	if run.State == task.StatePending && !run.Sandboxed {
		worker = uuid.NewString()
		if run, err = c.begin(ctx, run.ID, worker); err != nil {
			return err
		}
	}
	if err := c.remind(ctx, &run, now); err != nil {
		return err
	}
	if worker == "" || run.ClaimedBy != worker || run.State != task.StateRunning {
		return nil
	}
	return c.work(ctx, &run, worker, work)
}

// begin gives a waiting run to a worker, or ends it when it may not start any more.
func (c *Company) begin(ctx context.Context, runID, worker string) (task.Run, error) {
	return c.change(ctx, runID, func(ctx context.Context, v *view) (task.Run, error) {
		t, err := v.task(ctx)
		if err != nil {
			return v.run, err
		}
		revoked, err := c.revoked(ctx, v, t)
		if err != nil {
			return v.run, err
		}
		if revoked != "" {
			run, _ := task.Revoke(v.run, revoked, v.now)
			return run, nil
		}
		run, _ := task.Begin(v.run, worker, c.ExecuteTimeout, v.now)
		return run, nil
	})
}

// work runs a run that this worker holds, and settles it. What was done is not done again, so a database that is away at the
// end is waited for as long as the lease holds.
func (c *Company) work(ctx context.Context, run *task.Run, worker string, work Runner) error {
	lease, cancel := context.WithTimeout(ctx, c.ExecuteTimeout)
	defer cancel()
	outcome := c.attempt(ctx, run, work)
	for pause := firstSettlePause; ; pause = min(2*pause, maxSettlePause) {
		err := c.finish(lease, run.ID, worker, outcome)
		if task.KindOf(err) != task.KindUnavailable {
			return err
		}
		c.Log.WarnContext(ctx, "the outcome of a run is not stored yet", "run_id", run.ID, "error", err)
		select {
		case <-lease.Done():
			return err
		case <-time.After(pause):
		}
	}
}

// finish stores what became of a run, if this worker holds it still.
func (c *Company) finish(ctx context.Context, runID, worker string, outcome task.Outcome) error {
	_, err := c.change(ctx, runID, func(ctx context.Context, v *view) (task.Run, error) {
		t, err := v.task(ctx)
		if err != nil {
			return v.run, err
		}
		_, after, _ := task.Finish(*t, v.run, worker, outcome, v.now)
		return after, nil
	})
	return err
}

// attempt does the work itself, within the run limit and until a cancel.
func (c *Company) attempt(ctx context.Context, run *task.Run, work Runner) task.Outcome {
	registry := c.Executors.Registry()
	ex, _ := registry.Lookup(run.ExecutorType, run.ExecutorID)
	input, err := c.readBlob(ctx, run.InputKey, maxInput)
	if err != nil {
		return task.OutcomeOf(task.EndInternal, "The input of the run could not be read.")
	}
	limit := min(ex.Limits.Run, c.ExecuteTimeout-leaseMargin)
	working, cancel := context.WithTimeoutCause(ctx, limit, errLimit)
	var watching sync.WaitGroup
	watching.Go(func() { c.watchCancel(working, run.ID, cancel) })
	outcome := guarded(working, work, Job{
		Run: *run, Executor: ex, Agents: registry.AgentsOf(ex), Input: input, Secrets: c.Secrets,
		Earlier: func(ctx context.Context) (Conversation, error) { return c.earlier(ctx, run) },
	})
	passed := errors.Is(context.Cause(working), errLimit)
	cancel()
	watching.Wait()
	if passed && outcome.State != task.StateCompleted {
		return timedOut(outcome, limit)
	}
	outcome.Content = cutContent(clean(outcome.Content))
	outcome.Ended.Message = clean(outcome.Ended.Message)
	return outcome
}

// timedOut is the outcome of work that its limit ended; what it used counts all the same.
func timedOut(o task.Outcome, limit time.Duration) task.Outcome {
	out := task.OutcomeOf(task.EndRunTimeout, fmt.Sprintf("The run limit of %s passed.", limit))
	out.Usage = o.Usage
	return out
}

// watchCancel ends the work when the run is cancelled, or settled by somebody else.
func (c *Company) watchCancel(ctx context.Context, runID string, cancel context.CancelFunc) {
	tick := time.NewTicker(cancelPoll)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if run, err := c.DB.Run(ctx, runID); err == nil && run.State != task.StateRunning {
				cancel()
				return
			}
		}
	}
}

// guarded makes an outcome of a panic: one broken step must not take the process with it.
func guarded(ctx context.Context, work Runner, job Job) (o task.Outcome) {
	defer func() {
		if p := recover(); p != nil {
			o = task.OutcomeOf(task.EndInternal, "The executor failed.")
		}
	}()
	return work(ctx, job)
}
