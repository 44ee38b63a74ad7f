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
	"companyos/shared/model"
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

// Run implements app.Runner for a process without any model.
func (s Steps) Run(ctx context.Context, job app.Job) task.Outcome {
	return Worker{Steps: s}.Run(ctx, job)
}

// Worker does every kind of plain run.
type Worker struct {
	Steps  Steps
	Models model.Provider // nil: agents with harness model cannot run
}

// Run implements app.Runner.
func (w Worker) Run(ctx context.Context, job app.Job) task.Outcome {
	meter := model.NewMeter(job.Executor.Limits)
	var answer string
	var err error
	switch job.Executor.Harness {
	case executor.HarnessWorkflow:
		answer, err = w.Steps.workflow(ctx, job)
	case executor.HarnessFixture:
		answer, err = play(ctx, job.Input, job.Run.Attempt, nil)
	case executor.HarnessModel:
		answer, err = w.agent(ctx, job, meter)
	case executor.HarnessTeam:
		answer, err = w.team(ctx, job, meter)
	case executor.HarnessClaude, executor.HarnessCodex:
		err = missing(job.Executor.Harness)
	}
	out := outcome(ctx, answer, err)
	out.Usage = meter.Usage()
	return out
}

func missing(h executor.Harness) error {
	return &model.EndError{Kind: task.EndHarnessMissing, Text: "This deployment does not run the harness " + string(h) + "."}
}

func outcome(ctx context.Context, answer string, err error) task.Outcome {
	ended, ok := errors.AsType[*model.EndError](err)
	switch {
	case ctx.Err() != nil:
		return task.OutcomeOf(task.EndCancelled, task.CancelledRun)
	case ok:
		return task.OutcomeOf(ended.Kind, ended.Text)
	case err != nil:
		return task.OutcomeOf(task.EndFailed, err.Error())
	case answer == "":
		return task.OutcomeOf(task.EndNoOutput, noAnswer)
	}
	return task.OutcomeOf(task.EndCompleted, answer)
}

const noAnswer = "The run ended without an answer."

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

// play is the fixture without a sandbox: the plain agent of tests. ask is that of the leader of a team.
func play(ctx context.Context, input []byte, turn int, ask fixture.Asking) (string, error) {
	script, err := fixture.Find(input)
	if err != nil {
		return "", err
	}
	p := fixture.Play{
		Turn: script.Turn(turn), Prompt: string(input), Emit: func(fixture.Event) {}, Print: io.Discard, Ask: ask,
	}
	answer, err := p.Run(ctx)
	if failed, ok := errors.AsType[*fixture.FailedError](err); ok {
		return "", failed
	}
	return answer, err
}
