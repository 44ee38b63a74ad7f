package app

import (
	"context"
	"errors"

	"companyos/shared/executor"
	"companyos/shared/task"
)

// ExecutorState is an executor and, when no Task can be accepted or started for it now, why.
type ExecutorState struct {
	executor.Executor
	Problem *executor.RuleError
}

// ExecutorList is what the registry holds now.
type ExecutorList struct {
	Executors []ExecutorState
	Revision  string // of the file
	Stale     bool   // the file's newest content breaks a rule, and the one before it is in use
}

// reloader is a registry that can be read again while the process runs.
type reloader interface {
	Reload(ctx context.Context) (changed bool, err error)
}

// ListExecutors reads the executors again and says of each why it cannot be used, for a Task of one Product or, with an
// empty id, of a Product that has every Source. KindNotFound for a Product that is missing or archived.
func (c *Company) ListExecutors(ctx context.Context, productID string) (ExecutorList, error) {
	var sources []executor.SourceRef
	if productID != "" {
		if _, err := c.Product(ctx, productID, false); err != nil {
			return ExecutorList{}, err
		}
		found, err := c.DB.GitSources(ctx, productID)
		if err != nil {
			return ExecutorList{}, err
		}
		sources = sourceRefs(found)
	}
	out := ExecutorList{Stale: c.ReloadExecutors(ctx) != nil}
	registry := c.Executors.Registry()
	out.Revision = registry.Revision()
	for _, ex := range registry.All() {
		problem := usable(registry, ex)
		if problem == nil && ex.Sandboxed() {
			problem = c.equipped(ctx, ex)
		}
		if problem == nil && ex.Sandboxed() && (productID != "" || ex.Repository == nil) {
			_, problem = executor.MatchSource(ex, sources)
		}
		state := ExecutorState{Executor: ex}
		if problem != nil && !errors.As(problem, &state.Problem) {
			return out, problem
		}
		out.Executors = append(out.Executors, state)
	}
	return out, nil
}

// usable says why an executor cannot be used whatever the Task is.
func usable(registry *executor.Registry, ex executor.Executor) error {
	if _, err := registry.Select(ex.Kind, ex.ID); err != nil {
		return err
	}
	if err := executor.CheckStart(ex); err != nil {
		return err
	}
	return executor.CheckDatabase(ex, false, "")
}

// equipped says which secret of an executor does not exist. What cannot be read now is no reason: it may be when it is needed.
func (c *Company) equipped(ctx context.Context, ex executor.Executor) error {
	if c.Secrets == nil || ex.Sandbox == nil || len(ex.Sandbox.Secrets) == 0 {
		return nil
	}
	_, err := c.Secrets(ctx, ex.Sandbox.Secrets)
	if missing, ok := errors.AsType[*executor.RuleError](err); ok {
		return missing
	}
	if err != nil {
		c.Log.WarnContext(ctx, "the secrets of an executor cannot be read now", "executor_id", ex.ID, "error", err)
	}
	return nil
}

// ReloadExecutors reads the executors again, where they come from a file that may have changed. Content that breaks a
// rule replaces nothing: the error says which.
func (c *Company) ReloadExecutors(ctx context.Context) error {
	file, ok := c.Executors.(reloader)
	if !ok {
		return nil
	}
	changed, err := file.Reload(ctx)
	if err != nil {
		c.Log.ErrorContext(ctx, "the executors were not read again; the ones before stay in use", "error", err)
		return err
	}
	if changed {
		c.Log.InfoContext(ctx, "the executors have changed", "revision", c.Executors.Registry().Revision())
	}
	return nil
}

// Sandboxed says whether the executor that a Task names has a sandbox, as the registry is now.
func (c *Company) Sandboxed(t *task.Task) bool {
	if t.ExecutorID == nil {
		return false
	}
	agent, ok := c.Executors.Registry().Agent(*t.ExecutorID)
	return ok && agent.Sandboxed()
}
