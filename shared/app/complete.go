package app

import (
	"context"
	"encoding/json"
	"errors"

	"companyos/shared/company"
	"companyos/shared/routine"
	"companyos/shared/store"
	"companyos/shared/task"
)

const (
	completeBatch = 100
	projectTasks  = 1000 // a Project with more Tasks than that is left to a person
)

// projects completes the Projects that Routines may complete.
func (t *ticking) projects(ctx context.Context, routines []routine.Routine) {
	for _, r := range routines {
		if t.over(ctx) {
			return
		}
		projects, err := t.c.DB.CompletableProjects(ctx, r.ProductID, completeBatch)
		if err != nil {
			t.out.Status, t.out.Error = TickFailed, t.c.reason(ctx, err)
			return
		}
		for _, p := range projects {
			if t.over(ctx) {
				return
			}
			if outcome, proposed := t.c.tickProject(ctx, &p, &r); proposed {
				t.out.Projects = append(t.out.Projects, outcome)
			}
		}
	}
}

// tickProject completes one Project; proposed is false for one whose completion page is not there or not up to date.
func (c *Company) tickProject(ctx context.Context, p *company.Project, r *routine.Routine) (o TickOutcome, proposed bool) {
	o = TickOutcome{ProjectID: p.ID, Status: OutcomeDone, productID: p.ProductID}
	tasks, err := c.DB.TasksOfProject(ctx, p.ID, projectTasks+1)
	if err == nil && len(tasks) <= projectTasks {
		proposed, err = c.completionProposed(ctx, p, tasks)
		if err == nil && proposed {
			err = c.completeProject(ctx, p, r, tasks)
		}
	}
	if err == nil {
		return o, proposed
	}
	if reason, refused := isRefusal(err); refused {
		o.Status, o.Reason = OutcomeSkipped, reason
	} else {
		o.Status, o.Reason = OutcomeFailed, c.reason(ctx, err)
	}
	return o, true
}

// completionProposed says whether the page that proposes the completion holds exactly what it would hold now.
func (c *Company) completionProposed(ctx context.Context, p *company.Project, tasks []store.TaskInPlace) (bool, error) {
	_, page, err := c.DB.WikiPage(ctx, p.ProductID, routine.CompletionPath(p.ID), 0)
	if err != nil || page == nil {
		return false, err
	}
	return page.Content == routine.CompletionPage(p, unarchived(tasks)), nil
}

func unarchived(tasks []store.TaskInPlace) []task.Task {
	var out []task.Task
	for _, t := range tasks {
		if !hidden(t) {
			out = append(out, t.Task)
		}
	}
	return out
}

// completeProject moves a Project to done by a Routine's policy. It returns a *routine.Refusal where that does not allow it.
func (c *Company) completeProject(ctx context.Context, checked *company.Project, r *routine.Routine, tasks []store.TaskInPlace) error {
	var evidence []json.RawMessage
	for _, t := range tasks {
		evidence = append(evidence, t.Evidence...)
	}
	p := routine.Proposal{Project: checked, Evidence: evidence}
	if err := routine.Check(p, r, c.now()); err != nil {
		return err
	}
	if _, err := c.Executors.Registry().Select(r.Policy.ExecutorType, r.Policy.ExecutorID); err != nil {
		return broken(err)
	}
	if err := c.checkAutomatic(ctx, p, r, checked.ID); err != nil {
		return err
	}
	now := c.now()
	err := c.DB.Transact(ctx, func(ctx context.Context, tx *store.Tx) error {
		if err := c.spend(ctx, tx, r, checked.ID); err != nil {
			return err
		}
		present, _, err := tx.Project(ctx, checked.ID)
		if err != nil {
			return err
		}
		if present.Revision != checked.Revision || present.ArchivedAt != nil {
			return &routine.Refusal{Reason: routine.ReasonTaskChanged}
		}
		if err := present.CheckEdge(company.ProjectDone); err != nil {
			return err
		}
		after := present.Moved(company.ProjectDone, routine.EntryCompleted, r.Grant.PrincipalID, now)
		after.Transitions[len(after.Transitions)-1].AutoAccept = autoAccept(r)
		return tx.SaveProject(ctx, &present, &after)
	})
	if errors.Is(err, store.ErrChanged) {
		return &routine.Refusal{Reason: routine.ReasonTaskChanged}
	}
	return err
}
