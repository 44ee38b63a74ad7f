package app

import (
	"context"

	"companyos/shared/routine"
	"companyos/shared/task"
)

// Rights are what the operator gives somebody now.
type Rights struct {
	Known    bool // false: the operator's file says nothing about this person, and what was granted counts alone
	Disabled bool // the operator took all rights away
	Scopes   []string
}

// authority is what somebody who granted something earlier may do by it: what they had then, as far as they still do.
type authority struct {
	granted  task.Caller
	current  task.Caller
	disabled bool
}

// authorityOf asks what a grant is worth now. It returns a *routine.Refusal when nobody can say.
func (c *Company) authorityOf(ctx context.Context, granted task.Authorization) (authority, error) {
	a := authority{granted: granted.Caller(), current: granted.Caller()}
	if c.Rights == nil {
		return a, nil
	}
	rights, err := c.Rights(ctx, granted)
	switch {
	case err != nil:
		return a, &routine.Refusal{Reason: routine.ReasonNoDirectory}
	case rights.Disabled:
		a.current.Scopes, a.disabled = nil, true
	case rights.Known:
		a.current.Scopes = rights.Scopes
	}
	return a, nil
}

// ownerMayWork is KindForbidden for a Task's owner whom the operator disabled: nothing new is begun in that name. A Task may
// have no owner.
func (c *Company) ownerMayWork(ctx context.Context, owner *string) error {
	if owner == nil {
		return nil
	}
	a, err := c.authorityOf(ctx, task.Authorization{PrincipalID: *owner})
	if err != nil {
		return task.Unavailable("rights_unavailable", "Nobody can say now what the Task's owner may do", err)
	}
	if a.disabled {
		return errOwnerDisabled()
	}
	return nil
}

func errOwnerDisabled() error {
	return &task.Error{
		Kind: task.KindForbidden, Code: "owner_disabled", Detail: "Schedule owner is disabled",
		Remedy: "Ask the operator to enable the owner again, or make the work anew in another name.",
	}
}

// require is KindForbidden unless the scopes were granted and are held still.
func (a authority) require(scopes ...string) error {
	if err := a.granted.Require(scopes...); err != nil {
		return err
	}
	return a.current.Require(scopes...)
}

// requireRun is the same for the run permission of an executor.
func (a authority) requireRun(kind task.ExecutorKind, id string) error {
	if err := a.granted.RequireRun(kind, id); err != nil {
		return err
	}
	return a.current.RequireRun(kind, id)
}
