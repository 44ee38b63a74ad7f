package app

import (
	"context"
	"errors"
	"time"

	"companyos/shared/company"
	"companyos/shared/executor"
	"companyos/shared/store"
	"companyos/shared/task"
)

// Moved is a Task after a transition.
type Moved struct {
	store.TaskInPlace
	CancelledRunID string // the live run that the transition ended, empty for none
}

// MoveTask makes a transition that a person asks for. KindForbidden without the run permission that an acceptance needs,
// KindConflict when the Task's status, its executor, or what changed since the person looked forbids it.
func (c *Company) MoveTask(ctx context.Context, id string, m task.Move) (Moved, error) {
	if err := m.Validate(); err != nil {
		return Moved{}, err
	}
	var out Moved
	err := c.changeLiveTask(ctx, id, m.EndsLiveRun(), func(t task.Task) (task.Task, error) {
		if m.Target == task.StatusReady {
			if err := c.checkAcceptance(ctx, t, m); err != nil {
				return t, err
			}
		}
		if err := t.CheckEdge(m.Target); err != nil {
			return t, err
		}
		if err := t.CheckSeen(m.Attempt, m.ResultSHA256); err != nil {
			return t, err
		}
		return t.Moved(m, c.now()), nil
	}, &out.CancelledRunID)
	if err != nil {
		return Moved{}, err
	}
	out.TaskInPlace, err = c.DB.Task(ctx, id)
	return out, err
}

// checkAcceptance says whether the executor may be given this Task, by the caller.
func (c *Company) checkAcceptance(ctx context.Context, t task.Task, m task.Move) error {
	if !executor.Specialist(m.Executor.ID) {
		if err := m.By.RequireRun(m.Executor.Kind, m.Executor.ID); err != nil {
			return err
		}
	}
	return c.checkExecutorFor(ctx, t, m.Executor)
}

// CodeRemoteUnavailable is the code of an executor in another process that does not answer.
const CodeRemoteUnavailable = "remote_server_unavailable_error"

// errRemote is an executor in another process: nobody here can say whether it is there.
func errRemote() error {
	return task.Unavailable(CodeRemoteUnavailable, "Internal server error (RemoteServerUnavailableError)", nil)
}

// sourcesFor reads the git Sources that a sandboxed executor is matched with; others need none.
func (c *Company) sourcesFor(ctx context.Context, ex executor.Executor, productID string) ([]executor.SourceRef, error) {
	if !ex.Sandboxed() {
		return nil, nil
	}
	sources, err := c.DB.GitSources(ctx, productID)
	return sourceRefs(sources), err
}

func sourceRefs(sources []company.Source) []executor.SourceRef {
	refs := make([]executor.SourceRef, len(sources))
	for i, s := range sources {
		refs[i] = executor.SourceRef{ID: s.ID, Type: string(s.Type), Reference: s.Reference, CredentialRef: s.CredentialRef}
	}
	return refs
}

// broken turns a rule of the registry into the conflict that it is for a Task.
func broken(err error) error {
	if rule, ok := errors.AsType[*executor.RuleError](err); ok {
		return task.Conflictf(rule.Code, rule.Remedy, "%s", rule.Detail)
	}
	return err
}

// changeLiveTask changes a Task that may have a live run. Where endsRun, the run is cancelled in the same transaction and
// its id goes to cancelled. A Task that somebody else changed since the first look is a conflict, not a second try.
func (c *Company) changeLiveTask(ctx context.Context, id string, endsRun bool, change func(task.Task) (task.Task, error), cancelled *string) error {
	seen, err := c.Task(ctx, id, false)
	if err != nil {
		return err
	}
	var announced time.Time
	if endsRun && seen.LiveRunID != nil {
		run, err := c.DB.Run(ctx, *seen.LiveRunID)
		if err != nil {
			return err
		}
		if announced, err = c.announceCancel(ctx, &run); err != nil {
			return err
		}
	}
	after, err := change(seen.Task)
	if err != nil {
		return err
	}
	err = c.DB.Transact(ctx, func(ctx context.Context, tx *store.Tx) error {
		if !endsRun {
			return tx.SaveTask(ctx, &seen.Task, &after)
		}
		runID, err := c.cancelLive(ctx, tx, seen.Task, after, announced)
		if cancelled != nil {
			*cancelled = runID
		}
		return err
	})
	if errors.Is(err, store.ErrChanged) {
		return task.Conflictf("task_changed", "Read the Task and decide again.", "Task changed while transitioning")
	}
	return err
}

// invalidRule turns a rule of the registry into what it is for a body: invalid.
func invalidRule(err error) error {
	if rule, ok := errors.AsType[*executor.RuleError](err); ok {
		return task.Invalidf(rule.Code, rule.Remedy, "%s", rule.Detail)
	}
	return err
}
