package executor_test

import (
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"companyos/shared/executor"
	"companyos/shared/task"
)

func read(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func prices(t *testing.T) executor.Prices {
	t.Helper()
	p, err := executor.ParsePrices(read(t, "prices.example.yaml"), "prices.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestExampleFile(t *testing.T) {
	t.Parallel()
	r, err := executor.Parse(read(t, "example.yaml"), executor.Options{
		Prices:    prices(t),
		Available: []executor.Harness{executor.HarnessFixture, executor.HarnessWorkflow},
		Steps:     []string{"write", "collect"},
	})
	if err != nil {
		t.Fatal(err)
	}
	type row struct {
		Kind      task.ExecutorKind
		ID, Name  string
		Harness   executor.Harness
		Sandboxed bool
		Runnable  bool
	}
	var got []row
	for _, e := range r.All() {
		got = append(got, row{e.Kind, e.ID, e.Name, e.Harness, e.Sandboxed(), e.Runnable() == nil})
	}
	want := []row{
		{task.ExecutorAgent, "engineer", "Engineer", executor.HarnessClaude, true, false},
		{task.ExecutorAgent, "reviewer", "reviewer", executor.HarnessCodex, true, false},
		{task.ExecutorAgent, "writer", "writer", executor.HarnessModel, false, false},
		{task.ExecutorAgent, "editor", "editor", executor.HarnessModel, false, false},
		{task.ExecutorAgent, "rehearsal", "rehearsal", executor.HarnessFixture, true, true},
		{task.ExecutorTeam, "review-team", "Review", executor.HarnessTeam, false, false},
		{task.ExecutorWorkflow, "release-notes", "release-notes", executor.HarnessWorkflow, false, true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}

	engineer, _ := r.Agent("engineer")
	if engineer.Model != "claude-sonnet-4-6" || engineer.Instructions != "Keep changes small.\n" {
		t.Errorf("engineer: %+v", engineer)
	}
	if diff := cmp.Diff(&executor.Repository{URL: "https://github.com/octocat/Hello-World", Branch: "master"}, engineer.Repository); diff != "" {
		t.Error(diff)
	}
	sandbox := executor.Sandbox{CPU: 1024, Memory: 2048, Disk: 21, Secrets: []string{"ANTHROPIC_API_KEY", "GITHUB_READ_TOKEN"}}
	if diff := cmp.Diff(&sandbox, engineer.Sandbox); diff != "" {
		t.Error(diff)
	}
	limits := executor.Limits{
		Start: time.Hour, Prepare: 5 * time.Minute, Run: 30 * time.Minute, Idle: 5 * time.Minute,
		CancelGrace: 30 * time.Second, BudgetUSD: 5, Output: 10 << 20,
	}
	reviewer, _ := r.Agent("reviewer")
	for _, e := range []executor.Executor{engineer, reviewer} {
		if diff := cmp.Diff(limits, e.Limits); diff != "" {
			t.Errorf("%s: %s", e.ID, diff)
		}
	}
	if reviewer.Repository.Branch != "main" {
		t.Errorf("default branch is %q", reviewer.Repository.Branch)
	}
	rehearsal, _ := r.Agent("rehearsal")
	if diff := cmp.Diff(&executor.Sandbox{CPU: 1024, Memory: 2048, Disk: 21}, rehearsal.Sandbox); diff != "" {
		t.Error(diff)
	}
	limits.BudgetUSD = 0
	if diff := cmp.Diff(limits, rehearsal.Limits); diff != "" {
		t.Error(diff)
	}
	writer, _ := r.Agent("writer")
	if writer.Limits != executor.PlainLimits() || writer.Limits.Run != 14*time.Minute {
		t.Errorf("limits without a sandbox: %+v", writer.Limits)
	}
	team, _ := r.Team("review-team")
	workflow, _ := r.Workflow("release-notes")
	if diff := cmp.Diff([]any{"editor", []string{"writer"}, []string{"collect", "write"}}, []any{team.Leader, team.Members, workflow.Steps}); diff != "" {
		t.Error(diff)
	}
	if len(r.Revision()) != 64 {
		t.Errorf("revision %q", r.Revision())
	}
}
