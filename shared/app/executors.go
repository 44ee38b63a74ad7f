package app

import (
	"context"
	"errors"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

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
	all := registry.All()
	missing := c.missingSecrets(ctx, all)
	for _, ex := range all {
		problem := usable(registry, ex)
		for i := 0; problem == nil && ex.Sandboxed() && i < len(ex.Sandbox.Secrets); i++ {
			problem = missing[ex.Sandbox.Secrets[i]]
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

// secretsAtOnce is how many secrets are looked for at the same time.
const secretsAtOnce = 8

// missingSecrets are those of the sandboxed executors that do not exist, each looked for once. One that cannot be read now is
// not among them: it may be there when it is needed.
func (c *Company) missingSecrets(ctx context.Context, all []executor.Executor) map[string]error {
	var names []string
	for _, ex := range all {
		if ex.Sandboxed() {
			names = append(names, ex.Sandbox.Secrets...)
		}
	}
	slices.Sort(names)
	missing := map[string]error{}
	if c.Secrets == nil {
		return missing
	}
	var mu sync.Mutex
	var group errgroup.Group
	group.SetLimit(secretsAtOnce)
	for _, name := range slices.Compact(names) {
		group.Go(func() error {
			_, err := c.Secrets(ctx, []string{name})
			if rule, ok := errors.AsType[*executor.RuleError](err); ok {
				mu.Lock()
				defer mu.Unlock()
				missing[name] = rule
			} else if err != nil {
				c.Log.WarnContext(ctx, "a secret cannot be read now", "secret", name, "error", err)
			}
			return nil
		})
	}
	_ = group.Wait() // nothing of it fails
	return missing
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
