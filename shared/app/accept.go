package app

import (
	"context"
	"errors"
	"strings"

	"companyos/shared/company"
	"companyos/shared/executor"
	"companyos/shared/routine"
	"companyos/shared/store"
	"companyos/shared/task"
)

// Check is an acceptance check of the application. Only true passes.
type Check func(ctx context.Context, p CheckedProposal) (bool, error)

// CheckedProposal is what a check is asked about: a Task, or a Project that could be done.
type CheckedProposal struct {
	Task    *task.Task
	Project *company.Project
	Routine routine.Routine
}

// accept moves a proposal out of Backlog by its Routine's policy. It returns a *routine.Refusal where the policy does not
// allow it, another error where it could not be told.
func (c *Company) accept(ctx context.Context, t *task.Task) error {
	r, err := c.policyOf(ctx, *t.RoutineID)
	if err != nil {
		return err
	}
	p := routine.Proposal{Task: t, Evidence: t.Evidence}
	if err := routine.Check(p, r, c.now()); err != nil {
		return err
	}
	move := task.Move{
		Target: task.StatusReady, Reason: routine.EntryAccepted, Executor: &task.ExecutorRef{Kind: r.Policy.ExecutorType, ID: r.Policy.ExecutorID},
		AutoAccept: autoAccept(r),
	}
	if err := c.checkExecutorFor(ctx, *t, move.Executor); err != nil {
		return err
	}
	if err := c.checkAutomatic(ctx, p, r, t.ID); err != nil {
		return err
	}
	move.By = r.Grant.Caller()
	return c.acceptTask(ctx, t, r, move)
}

func autoAccept(r *routine.Routine) *task.AutoAccept {
	return &task.AutoAccept{RoutineID: r.ID, Policy: r.Policy.Fingerprint(), MaxAcceptances: int(r.Policy.Limits.MaxAcceptances)}
}

// policyOf reads a Routine, nil when there is none.
func (c *Company) policyOf(ctx context.Context, id string) (*routine.Routine, error) {
	r, err := c.DB.Routine(ctx, id)
	if task.KindOf(err) == task.KindNotFound {
		return nil, nil
	}
	return &r, err
}

// checkAutomatic makes the checks that need more than the records: the grant and what it is worth now, the budget and the
// named checks, then the grant again, since checks take time.
func (c *Company) checkAutomatic(ctx context.Context, p routine.Proposal, r *routine.Routine, recordID string) error {
	if err := routine.CheckGrant(r.Grant); err != nil {
		return err
	}
	if err := c.checkGranted(ctx, r); err != nil {
		return err
	}
	accepted, err := c.DB.CountAcceptances(ctx, r.ID, r.Policy.Fingerprint(), recordID)
	if err != nil {
		return err
	}
	if accepted >= r.Policy.Limits.MaxAcceptances {
		return &routine.Refusal{Reason: routine.ReasonLimit}
	}
	if err := c.runChecks(ctx, p, r); err != nil {
		return err
	}
	return c.checkGranted(ctx, r)
}

// checkGranted refuses a grant whose author may not do now what it allows.
func (c *Company) checkGranted(ctx context.Context, r *routine.Routine) error {
	a, err := c.authorityOf(ctx, *r.Grant)
	if err != nil {
		return err
	}
	if a.disabled {
		return &routine.Refusal{Reason: routine.ReasonDisabledAuthor}
	}
	if err := a.require(r.Policy.GrantScopes()...); err != nil {
		return &routine.Refusal{Reason: c.reason(ctx, err)}
	}
	if err := a.requireRun(r.Policy.ExecutorType, r.Policy.ExecutorID); err != nil {
		return &routine.Refusal{Reason: c.reason(ctx, err)}
	}
	return nil
}

// runChecks runs the checks that a policy names: first what the records answer, last what has to be read somewhere else.
func (c *Company) runChecks(ctx context.Context, p routine.Proposal, r *routine.Routine) error {
	for _, name := range r.Policy.RequiredChecks {
		if !routine.BuiltIn(name) && c.Checks[name] == nil {
			return &routine.Refusal{Reason: routine.ReasonUnknownCheck}
		}
	}
	for _, wanted := range [][]string{{routine.CheckRegistered}, {routine.CheckActive}, nil, {routine.CheckEvidence}} {
		for _, name := range r.Policy.RequiredChecks {
			if (wanted == nil && routine.BuiltIn(name)) || (wanted != nil && wanted[0] != name) {
				continue
			}
			passed, err := c.runCheck(ctx, name, p, r)
			if err != nil {
				return err
			}
			if !passed {
				return &routine.Refusal{Reason: routine.ReasonCheckFailed + name}
			}
		}
	}
	return nil
}

func (c *Company) runCheck(ctx context.Context, name string, p routine.Proposal, r *routine.Routine) (bool, error) {
	switch name {
	case routine.CheckRegistered:
		_, err := c.Executors.Registry().Select(r.Policy.ExecutorType, r.Policy.ExecutorID)
		return err == nil, nil
	case routine.CheckActive:
		return c.projectActive(ctx, p, r)
	case routine.CheckEvidence:
		return c.evidenceHolds(ctx, r.ProductID, p.Evidence)
	}
	passed, err := c.Checks[name](ctx, CheckedProposal{Task: p.Task, Project: p.Project, Routine: *r})
	if err != nil {
		c.Log.WarnContext(ctx, "an acceptance check failed", "check", name, "routine_id", r.ID, "error", err)
		return false, nil
	}
	return passed, nil
}

func (c *Company) projectActive(ctx context.Context, p routine.Proposal, r *routine.Routine) (bool, error) {
	if p.Project != nil {
		return p.Project.Status == company.ProjectActive && p.Project.ProductID == r.ProductID, nil
	}
	project, err := c.Project(ctx, p.Task.ProjectID, false)
	if task.KindOf(err) == task.KindNotFound {
		return false, nil
	}
	return project.Status == company.ProjectActive && project.ProductID == r.ProductID, err
}

// acceptTask writes an acceptance: the Task as it was checked, the Routine with the policy that was checked, and one more
// of its budget. The Routine's own row is written, so that two acceptances at once never count the same last one.
func (c *Company) acceptTask(ctx context.Context, checked *task.Task, r *routine.Routine, move task.Move) error {
	now := c.now()
	err := c.DB.Transact(ctx, func(ctx context.Context, tx *store.Tx) error {
		if err := c.spend(ctx, tx, r, checked.ID); err != nil {
			return err
		}
		present, err := tx.Task(ctx, checked.ID)
		if err != nil {
			return err
		}
		if present.Revision != checked.Revision || hidden(present) {
			return &routine.Refusal{Reason: routine.ReasonTaskChanged}
		}
		if err := present.CheckEdge(move.Target); err != nil {
			return err
		}
		after := present.Moved(move, now)
		return tx.SaveTask(ctx, &present.Task, &after)
	})
	if errors.Is(err, store.ErrChanged) {
		return &routine.Refusal{Reason: routine.ReasonTaskChanged}
	}
	return err
}

// spend takes one acceptance out of the budget of a policy that still is as it was checked.
func (c *Company) spend(ctx context.Context, tx *store.Tx, checked *routine.Routine, recordID string) error {
	now := c.now()
	present, product, err := tx.Routine(ctx, checked.ID)
	if task.KindOf(err) == task.KindNotFound {
		return routine.Same(checked, nil, now)
	}
	if err != nil {
		return err
	}
	if err := routine.Same(checked, &present, now); err != nil {
		return err
	}
	if product.ArchivedAt != nil {
		return &routine.Refusal{Reason: routine.ReasonTaskChanged}
	}
	policy := present.Policy.Fingerprint()
	accepted, err := tx.CountAcceptances(ctx, present.ID, policy, recordID)
	if err != nil {
		return err
	}
	if accepted >= present.Policy.Limits.MaxAcceptances {
		return &routine.Refusal{Reason: routine.ReasonLimit}
	}
	if err := tx.InsertAcceptance(ctx, present.ID, policy, recordID, now); err != nil {
		return err
	}
	return tx.SaveRoutine(ctx, &present, &present)
}

// checkExecutorFor says whether an executor may be given this Task, whoever asks.
func (c *Company) checkExecutorFor(ctx context.Context, t task.Task, ref *task.ExecutorRef) error {
	ex, err := c.Executors.Registry().Select(ref.Kind, ref.ID)
	if err != nil {
		return broken(err)
	}
	if ex.Remote {
		return errRemote()
	}
	if err := ex.Runnable(); err != nil {
		return broken(err)
	}
	sources, err := c.sourcesFor(ctx, ex, t.ProductID)
	if err != nil {
		return err
	}
	if _, err := executor.MatchSource(ex, sources); err != nil {
		return broken(err)
	}
	return broken(executor.CheckPin(ex, t.Checkout))
}

// isRefusal says that a policy or a race said no, and with which words.
func isRefusal(err error) (string, bool) {
	refused, ok := errors.AsType[*routine.Refusal](err)
	if !ok {
		return "", false
	}
	return strings.TrimSpace(refused.Reason), true
}
