// Package worker does the work of plain runs: agents without a sandbox, teams and workflows. A workflow is a named list
// of steps that a team writes in Go and registers.
package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"companyos/shared/agent/fixture"
	"companyos/shared/app"
	"companyos/shared/executor"
	"companyos/shared/task"
)

// Step is one step of a workflow. Its context ends when the run is cancelled or its limit passes. An error fails the run.
type Step func(ctx context.Context, in StepInput) (output string, err error)

// StepInput is what a step is given.
type StepInput struct {
	TaskID   string
	Attempt  int
	Input    json.RawMessage   // the brief, the wiki, the evidence and what is wanted
	Previous string            // what the step before answered, empty for the first
	Routine  *app.RoutineTools // of a Routine's run: what it may do beside its own work; nil for a Task's
}

// Steps are the registered steps by name.
type Steps map[string]Step

// Names lists the registered steps, never nil: executors.yaml is checked against them.
func (s Steps) Names() []string {
	names := make([]string, 0, len(s))
	for name := range s {
		names = append(names, name)
	}
	return names
}

// Run implements app.Runner.
func (s Steps) Run(ctx context.Context, job app.Job) task.Outcome {
	var answer string
	var err error
	switch job.Executor.Harness {
	case executor.HarnessWorkflow:
		answer, err = s.workflow(ctx, job)
	case executor.HarnessFixture:
		answer, err = play(ctx, job)
	case executor.HarnessClaude, executor.HarnessCodex, executor.HarnessModel, executor.HarnessTeam:
		return task.OutcomeOf(task.EndHarnessMissing, "This deployment does not run the harness "+string(job.Executor.Harness)+".")
	}
	switch {
	case ctx.Err() != nil:
		return task.OutcomeOf(task.EndCancelled, "Run cancelled")
	case err != nil:
		return task.OutcomeOf(task.EndFailed, err.Error())
	case answer == "":
		return task.OutcomeOf(task.EndNoOutput, "The run ended without an answer.")
	}
	return task.OutcomeOf(task.EndCompleted, answer)
}

func (s Steps) workflow(ctx context.Context, job app.Job) (answer string, err error) {
	for _, name := range job.Executor.Steps {
		step, ok := s[name]
		if !ok {
			return "", fmt.Errorf("the step %s is not registered", name)
		}
		in := StepInput{TaskID: job.Run.TaskID, Attempt: job.Run.Attempt, Input: job.Input, Previous: answer, Routine: job.Routine}
		if answer, err = step(ctx, in); err != nil {
			return "", fmt.Errorf("step %s: %w", name, err)
		}
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
	}
	return answer, nil
}

// play is the fixture without a sandbox: the plain agent of tests.
func play(ctx context.Context, job app.Job) (string, error) {
	script, err := fixture.Find(job.Input)
	if err != nil {
		return "", err
	}
	p := fixture.Play{
		Turn: script.Turn(job.Run.Attempt), Prompt: string(job.Input), Emit: func(fixture.Event) {}, Print: io.Discard,
	}
	answer, err := p.Run(ctx)
	if failed, ok := errors.AsType[*fixture.FailedError](err); ok {
		return "", failed
	}
	return answer, err
}
