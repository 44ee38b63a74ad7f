package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"companyos/shared/executor"
	"companyos/shared/store"
	"companyos/shared/task"
)

// Started is the answer to a start, also to a repeated one.
type Started struct {
	RunID     string
	SessionID string
	Status    string
}

// startWake is how long after its sending the first wake of a run arrives. The reservation commits before that or begins
// again with a new wake, so no crash leaves a reserved run that nobody looks at.
const startWake = 30 * time.Second

// maxStartTries bounds how often a start begins again because the Task changed under it.
const maxStartTries = 8

// StartRun reserves an attempt of a Task and wakes whoever executes it. A repeat for an attempt that exists starts
// nothing and answers its state. KindNotFound for a missing Task, KindForbidden without the executor's run permission and for an owner whom the operator disabled,
// KindConflict where the Task's state or its executor forbids it, KindBusy when too many runs wait.
func (c *Company) StartRun(ctx context.Context, taskID string, s task.Start) (Started, error) {
	return c.start(ctx, taskID, s, nil)
}

// startSeen is StartRun for a Task that has to be as it was seen, else it is store.ErrChanged.
func (c *Company) startSeen(ctx context.Context, seen *task.Task, s task.Start) (Started, error) {
	return c.start(ctx, seen.ID, s, &seen.Revision)
}

func (c *Company) start(ctx context.Context, taskID string, s task.Start, revision *int64) (Started, error) {
	for range maxStartTries {
		t, err := c.Task(ctx, taskID, false)
		if err != nil {
			return Started{}, err
		}
		if revision != nil && t.Revision != *revision {
			return Started{}, store.ErrChanged
		}
		ex, err := c.startable(t.Task, s.By)
		if err != nil {
			return Started{}, err
		}
		if err := t.CheckNumber(s.Attempt); err != nil {
			return Started{}, err
		}
		started, err := c.reserve(ctx, t.Task, ex, s)
		if errors.Is(err, store.ErrUnknownOutcome) {
			continue // reading again tells: an attempt that was reserved is answered, not reserved twice
		}
		if err != nil || started != nil {
			return deref(started), err
		}
	}
	return Started{}, task.Unavailable("busy", "The Task keeps changing", nil)
}

func deref(s *Started) Started {
	if s == nil {
		return Started{}
	}
	return *s
}

// startable is the Task's executor, if the caller may start it.
func (c *Company) startable(t task.Task, by task.Caller) (executor.Executor, error) {
	var kind task.ExecutorKind
	var id string
	if t.Status != task.StatusBacklog && t.ExecutorType != nil && t.ExecutorID != nil {
		kind, id = *t.ExecutorType, *t.ExecutorID
	}
	ex, err := c.Executors.Registry().Select(kind, id)
	if err != nil {
		return ex, broken(err)
	}
	if err := executor.CheckStart(ex); err != nil {
		return ex, broken(err)
	}
	return ex, by.RequireRun(kind, id)
}

// reserve answers nil when the Task changed meanwhile and the start has to begin again.
func (c *Company) reserve(ctx context.Context, t task.Task, ex executor.Executor, s task.Start) (*Started, error) {
	previous := ""
	if t.JobID != nil {
		previous = *t.JobID
	}
	facts, err := c.DB.StartFacts(ctx, &t, task.RunID(t.ID, s.Attempt), previous, store.StartLimits{Pending: c.MaxPending + 1, PageBytes: maxInput})
	if err != nil {
		return nil, err
	}
	if facts.Named != nil {
		return &Started{facts.Named.ID, facts.Named.SessionID, facts.Named.State.Public()}, nil
	}
	if err := t.CheckStart(s, facts.Previous); err != nil {
		return nil, err
	}
	if err := c.ownerMayWork(ctx, t.SessionOwner()); err != nil {
		return nil, err
	}
	source, err := checkExecutor(t, ex, facts)
	if err != nil {
		return nil, err
	}
	if facts.Pending >= c.MaxPending {
		return nil, &task.Error{Kind: task.KindBusy, Code: "queue_full", Detail: "Job queue is full", Remedy: "Start the attempt again when other runs have ended.", Retryable: true}
	}
	if facts.Pages, err = c.defaultPages(ctx, facts); err != nil {
		return nil, err
	}
	after := t.Reserved(s, runDB(ex), facts.Now)
	run, err := c.newRun(ctx, after, ex, source, s, facts)
	if err != nil {
		return nil, err
	}
	return c.commitStart(ctx, t, after, run)
}

// checkExecutor holds the rules that tie an executor to this Task.
func checkExecutor(t task.Task, ex executor.Executor, facts store.StartFacts) (executor.SourceRef, error) {
	original, started := t.RunDB()
	if original == task.RunDBID {
		original = ""
	}
	if err := executor.CheckDatabase(ex, started, original); err != nil {
		return executor.SourceRef{}, broken(err)
	}
	if err := executor.CheckPin(ex, t.Checkout); err != nil {
		return executor.SourceRef{}, broken(err)
	}
	source, err := executor.MatchSource(ex, sourceRefs(facts.Sources))
	return source, broken(err)
}

func runDB(ex executor.Executor) string {
	if ex.DatabaseID != "" {
		return ex.DatabaseID
	}
	return task.RunDBID
}

// newRun makes the run and stores its input.
func (c *Company) newRun(ctx context.Context, t task.Task, ex executor.Executor, source executor.SourceRef, s task.Start, facts store.StartFacts) (task.Run, error) {
	run := task.Run{
		ID: task.RunID(t.ID, s.Attempt), TaskID: t.ID, ProductID: t.ProductID, Attempt: s.Attempt, SessionID: t.SessionID,
		UserID: t.SessionOwner(), StartedBy: &s.By.ID, ExecutorType: ex.Kind, ExecutorID: ex.ID, Sandboxed: ex.Sandboxed(),
		State: task.StatePending, CreatedAt: facts.Now, DueAt: facts.Now.Add(startWake), StartUntil: facts.Now.Add(ex.Limits.Start),
		StopGrace: ex.Limits.CancelGrace, SourceID: source.ID,
	}
	if run.Sandboxed {
		run.Checkout.URL, run.Checkout.Branch = ex.Repository.URL, ex.Repository.Branch
		if t.Checkout != nil {
			run.Checkout.Requested = t.Checkout.Commit
		}
		run.WaitingReason, run.WaitingSince = "slot", &facts.Now
	}
	var err error
	run.InputKey, run.InputSHA256, err = c.putInput(ctx, run.ID, t, ex, facts)
	return run, err
}

// commitStart sends the wake, reserves while that wake is still on its way, and wakes again at once.
func (c *Company) commitStart(ctx context.Context, before, after task.Task, run task.Run) (*Started, error) {
	if err := c.send(ctx, run.ID, run.Sandboxed, startWake); err != nil {
		return nil, task.Unavailable("queue_unavailable", "The queue did not take the run", err)
	}
	reserved := false
	err := c.DB.Transact(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		reserved, err = tx.Reserve(ctx, &before, &after, &run, firstEvent(&run))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reserve attempt %d of %s: %w", run.Attempt, run.TaskID, err)
	}
	if !reserved {
		return nil, nil
	}
	if err := c.send(ctx, run.ID, run.Sandboxed, 0); err != nil {
		c.Log.WarnContext(ctx, "the run waits for its first wake", "run_id", run.ID, "error", err)
	}
	return &Started{run.ID, run.SessionID, run.State.Public()}, nil
}
