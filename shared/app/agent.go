package app

import (
	"cmp"
	"context"
	"fmt"

	"github.com/google/uuid"

	"companyos/shared/store"
	"companyos/shared/task"
)

// maxProposals is how many Tasks one run may propose: enough for an agent that finds work, too few for one that is told
// to bury a team in it.
const maxProposals = 20

// AgentRun returns the run whose session token somebody shows, while it works. KindUnauthorized for a token that is none,
// or whose run does not work any more.
func (c *Company) AgentRun(ctx context.Context, token string) (task.Run, error) {
	run, _, err := c.sessionRun(ctx, token)
	if err == nil && run.State != task.StateRunning {
		err = errToken
	}
	if task.KindOf(err) == task.KindConflict { // of an earlier launch
		err = errToken
	}
	return run, err
}

// ProposeForRun adds a Task to Backlog on behalf of a run, in the run's own Product. It belongs to the run's owner; the
// same title again returns the Task that is there. KindBusy when the run has proposed enough, and the errors of
// CreateTask.
func (c *Company) ProposeForRun(ctx context.Context, run task.Run, in TaskInput) (store.TaskInPlace, error) {
	t := task.Task{
		ID: uuid.NewString(), ProductID: run.ProductID, ProjectID: in.ProjectID, Title: in.Title, Brief: in.Brief, Evidence: in.Evidence,
		Origin: task.OriginProductManager, Status: task.StatusBacklog, UserID: cmp.Or(run.UserID, run.StartedBy),
		ExecutorType: in.ExecutorType, ExecutorID: in.ExecutorID, SessionID: uuid.NewString(), CreatedAt: c.now(),
	}
	var out store.TaskInPlace
	err := c.DB.Transact(ctx, func(ctx context.Context, tx *store.Tx) error {
		there, key, err := proposalKey(ctx, tx, run, in.Title)
		if err != nil || key == "" {
			out = there
			return err
		}
		t.DedupeKey = &key
		out, err = addTask(ctx, tx, t)
		return err
	})
	return out, finishedProject(err)
}

// proposalKey returns the Task of this title that the run proposed before, or the key of its next proposal.
func proposalKey(ctx context.Context, tx *store.Tx, run task.Run, title string) (there store.TaskInPlace, key string, err error) {
	for n := range maxProposals {
		key := fmt.Sprintf("run:%s:%d", run.ID, n+1)
		there, ok, err := tx.TaskByDedupeKey(ctx, run.ProductID, key)
		if err != nil || !ok {
			return there, key, err
		}
		if there.Title == title {
			return there, "", nil
		}
	}
	return there, "", &task.Error{
		Kind: task.KindBusy, Code: "too_many_proposals", Detail: fmt.Sprintf("A run may propose %d Tasks", maxProposals),
		Remedy: "Put what is left into the result of the run.",
	}
}
