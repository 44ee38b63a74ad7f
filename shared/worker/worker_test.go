package worker

import (
	"context"
	"errors"
	"testing"

	"companyos/shared/app"
	"companyos/shared/executor"
	"companyos/shared/task"
)

func TestRun(t *testing.T) {
	t.Parallel()
	steps := Steps{
		"one":  func(_ context.Context, in StepInput) (string, error) { return in.Previous + "1", nil },
		"two":  func(_ context.Context, in StepInput) (string, error) { return in.Previous + "2", nil },
		"fail": func(context.Context, StepInput) (string, error) { return "", errors.New("no luck") },
		"mute": func(context.Context, StepInput) (string, error) { return "", nil },
	}
	fixed := func(brief string) []byte { return []byte(`{"brief":` + brief + `}`) }
	for name, c := range map[string]struct {
		ex      executor.Executor
		input   []byte
		attempt int
		kind    task.EndKind
		content string
	}{
		"workflow": {executor.Executor{Harness: executor.HarnessWorkflow, Steps: []string{"one", "two"}}, fixed(`""`), 1, task.EndCompleted, "12"},
		"failing":  {executor.Executor{Harness: executor.HarnessWorkflow, Steps: []string{"one", "fail", "two"}}, fixed(`""`), 1, task.EndFailed, "step fail: no luck"},
		"unknown":  {executor.Executor{Harness: executor.HarnessWorkflow, Steps: []string{"gone"}}, fixed(`""`), 1, task.EndFailed, "the step gone is not registered"},
		"mute":     {executor.Executor{Harness: executor.HarnessWorkflow, Steps: []string{"mute"}}, fixed(`""`), 1, task.EndNoOutput, "The run ended without an answer."},
		"fixture, second turn": {
			executor.Executor{Harness: executor.HarnessFixture},
			fixed(`"x\nFIXTURE: {\"turns\":[{\"steps\":[{\"answer\":\"a\"}]},{\"steps\":[{\"answer\":\"b\"}]}]}"`),
			2, task.EndCompleted, "b",
		},
		"fixture that fails":         {executor.Executor{Harness: executor.HarnessFixture}, fixed(`"FIXTURE: {\"turns\":[{\"steps\":[{\"fail\":\"boom\"}]}]}"`), 1, task.EndFailed, "boom"},
		"fixture without a checkout": {executor.Executor{Harness: executor.HarnessFixture}, fixed(`"FIXTURE: {\"turns\":[{\"steps\":[{\"run\":[\"true\"]}]}]}"`), 1, task.EndFailed, "this step needs a sandbox with a checkout"},
		"not here":                   {executor.Executor{Harness: executor.HarnessCodex}, fixed(`""`), 1, task.EndHarnessMissing, "This deployment does not run the harness codex."},
	} {
		got := steps.Run(t.Context(), app.Job{Run: task.Run{Attempt: c.attempt}, Executor: c.ex, Input: c.input})
		said := got.Content
		if c.kind != task.EndCompleted {
			said = got.Ended.Message
		}
		if got.Ended.Kind != c.kind || said != c.content {
			t.Errorf("%s: %s %q, want %s %q", name, got.Ended.Kind, said, c.kind, c.content)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := steps.Run(ctx, app.Job{Executor: executor.Executor{Harness: executor.HarnessWorkflow, Steps: []string{"one"}}}); got.Ended.Kind != task.EndCancelled {
		t.Errorf("cancelled: %+v", got)
	}
}
