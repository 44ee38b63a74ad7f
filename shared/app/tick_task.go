package app

import (
	"context"
	"errors"

	"companyos/shared/routine"
	"companyos/shared/store"
	"companyos/shared/task"
)

// tickTask does what is due for one Task: recovery comes before every question of policy, and where it found something
// to do the Task is left for the next tick.
func (c *Company) tickTask(ctx context.Context, id string) []TickOutcome {
	t, err := c.DB.Task(ctx, id)
	if err != nil || hidden(t) {
		if err != nil && task.KindOf(err) != task.KindNotFound {
			return []TickOutcome{c.failed(ctx, &t.Task, err)}
		}
		return []TickOutcome{{TaskID: id, Status: OutcomeSkipped, Reason: routine.ReasonDeleted}}
	}
	if outcome, ended := c.tickRecover(ctx, &t.Task); ended {
		return []TickOutcome{outcome}
	}
	switch t.Status {
	case task.StatusBacklog:
		return c.tickProposal(ctx, &t.Task)
	case task.StatusReady:
		return []TickOutcome{c.dispatch(ctx, &t.Task)}
	case task.StatusInProgress, task.StatusInReview, task.StatusDone, task.StatusCancelled:
	}
	return nil
}

// tickRecover settles what a reserved attempt left behind.
func (c *Company) tickRecover(ctx context.Context, t *task.Task) (o TickOutcome, ended bool) {
	if t.JobID == nil {
		return o, false
	}
	found, err := c.RecoverTask(ctx, t.ID)
	if err != nil {
		return c.failed(ctx, t, err), true
	}
	o = TickOutcome{TaskID: t.ID, RunID: found.RunID, SessionID: t.SessionID, productID: t.ProductID}
	switch {
	case found.Action == RecoverSettled:
		o.Action, o.Status = string(RecoverSettled), "reconciled"
		return o, true
	case found.Action == RecoverSubmitted && t.Status == task.StatusInProgress:
		o.Status = OutcomeSubmitted
		return o, true
	case found.Action == RecoverSubmitted:
		return c.skipped(t, routine.ReasonStillActive), true // the run before is being stopped
	}
	return o, false
}

// tickProposal accepts a proposal where its Routine may, and starts it in the same tick.
func (c *Company) tickProposal(ctx context.Context, t *task.Task) []TickOutcome {
	if t.Origin != task.OriginRoutine || t.RoutineID == nil {
		return nil
	}
	if err := c.accept(ctx, t); err != nil {
		if reason, refused := isRefusal(err); refused {
			return []TickOutcome{c.skipped(t, reason)}
		}
		return []TickOutcome{c.failed(ctx, t, err)}
	}
	accepted := TickOutcome{TaskID: t.ID, Status: OutcomeAccepted, productID: t.ProductID}
	ready, err := c.DB.Task(ctx, t.ID)
	if err != nil {
		return []TickOutcome{accepted, c.failed(ctx, t, err)}
	}
	if hidden(ready) || ready.Status != task.StatusReady {
		return []TickOutcome{accepted}
	}
	return []TickOutcome{accepted, c.dispatch(ctx, &ready.Task)}
}

func (c *Company) skipped(t *task.Task, reason string) TickOutcome {
	return TickOutcome{TaskID: t.ID, Status: OutcomeSkipped, Reason: reason, productID: t.ProductID}
}

func (c *Company) failed(ctx context.Context, t *task.Task, err error) TickOutcome {
	return TickOutcome{TaskID: t.ID, Status: OutcomeFailed, Reason: c.reason(ctx, err), productID: t.ProductID, revision: t.Revision}
}

// dispatch starts the next attempt of an accepted Task, by the rights of whoever accepted it as far as they still hold. It
// takes the Task back to Backlog where they, or the policy that accepted it, do not.
func (c *Company) dispatch(ctx context.Context, t *task.Task) TickOutcome {
	entry := routine.LatestAcceptance(t)
	if entry == nil || entry.Authority == nil {
		return c.failed(ctx, t, task.Conflictf("acceptance_missing", "Return the Task to backlog and accept it again.", "%s", routine.ReasonFreshNeeded))
	}
	if entry.Authority.PrincipalID == "" {
		return c.withdraw(ctx, t, routine.ReasonNoCaller, OutcomeFailed)
	}
	if _, err := c.Executors.Registry().Select(*t.ExecutorType, *t.ExecutorID); err != nil {
		return c.failed(ctx, t, broken(err))
	}
	a, err := c.authorityOf(ctx, *entry.Authority)
	if err != nil {
		return c.failed(ctx, t, err)
	}
	if err := a.requireRun(*t.ExecutorType, *t.ExecutorID); err != nil {
		return c.withdraw(ctx, t, c.reason(ctx, err), OutcomeFailed)
	}
	if err := a.require("tasks:write", "wiki:read"); err != nil {
		return c.withdraw(ctx, t, c.reason(ctx, err), OutcomeFailed)
	}
	if err := c.policyHolds(ctx, c.DB.Routine, t, entry); err != nil {
		if reason, refused := isRefusal(err); refused {
			return c.withdraw(ctx, t, reason, OutcomeSkipped)
		}
		return c.failed(ctx, t, err)
	}
	started, err := c.startSeen(ctx, t, task.Start{Attempt: t.Attempts() + 1, By: a.current})
	if err != nil {
		if reason, race := dispatchRace(err); race {
			return c.skipped(t, reason)
		}
		return c.failed(ctx, t, err)
	}
	return TickOutcome{
		TaskID: t.ID, RunID: started.RunID, SessionID: started.SessionID, Status: OutcomeStatus(started.Status), Action: actionSubmitted, productID: t.ProductID,
	}
}

// dispatchRace says which refusals of a start are somebody else's doing and no failure.
func dispatchRace(err error) (string, bool) {
	e, ok := errors.AsType[*task.Error](err)
	switch {
	case ok && e.Code == "run_live":
		return routine.ReasonStillActive, true
	case errors.Is(err, store.ErrChanged), ok && e.Kind == task.KindNotFound:
		return routine.ReasonChangedBefore, true
	}
	return "", false
}

// policyHolds refuses an automatic acceptance that does not stand any more. A person's always does.
func (c *Company) policyHolds(ctx context.Context, read func(context.Context, string) (routine.Routine, error), t *task.Task, entry *task.Entry) error {
	if entry == nil || entry.AutoAccept == nil {
		return nil
	}
	r, err := read(ctx, entry.AutoAccept.RoutineID)
	switch {
	case task.KindOf(err) == task.KindNotFound:
		return routine.CheckHolds(entry.AutoAccept, t.ProductID, nil, c.now())
	case err != nil:
		return err
	}
	return routine.CheckHolds(entry.AutoAccept, t.ProductID, &r, c.now())
}

// withdraw takes an accepted Task back to Backlog, with the reason in its history.
func (c *Company) withdraw(ctx context.Context, t *task.Task, reason string, status OutcomeStatus) TickOutcome {
	after := t.Moved(task.Move{Target: task.StatusBacklog, Reason: reason}, c.now())
	err := c.DB.Transact(ctx, func(ctx context.Context, tx *store.Tx) error { return tx.SaveTask(ctx, t, &after) })
	if errors.Is(err, store.ErrChanged) {
		return c.skipped(t, routine.ReasonChangedBefore)
	}
	if err != nil {
		return c.failed(ctx, t, err)
	}
	return TickOutcome{TaskID: t.ID, Status: status, Reason: reason, productID: t.ProductID, revision: t.Revision + 1}
}
