package main

import (
	"context"
	"fmt"
	"time"

	"companyos/shared/app"
	"companyos/shared/executor"
	"companyos/shared/task"
)

// plainDouble stands for agents, teams and workflows that would call a model.
type plainDouble struct {
	turns ordinals
}

// run implements app.Runner. Its order of attempts is the Task's.
func (p *plainDouble) run(ctx context.Context, job app.Job) task.Outcome {
	n := p.turns.of(job.Run.TaskID, job.Run.ID)
	if job.Executor.Harness == executor.HarnessWorkflow {
		n = 0 // a workflow plays the first turn at every attempt
	}
	t := script(job.Input, n)
	select {
	case <-ctx.Done():
		return task.OutcomeOf(task.EndCancelled, "Run cancelled")
	case <-time.After(t.delay()):
	}
	if t.Status == string(task.ResultError) {
		return task.OutcomeOf(task.EndFailed, t.content("scripted failure"))
	}
	if job.Executor.Harness == executor.HarnessWorkflow {
		return task.OutcomeOf(task.EndCompleted, t.content("workflow done"))
	}
	return task.OutcomeOf(task.EndCompleted, t.content(fmt.Sprintf("local turn %d done", n+1)))
}
