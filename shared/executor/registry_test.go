package executor_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"companyos/shared/executor"
	"companyos/shared/task"
)

// registry holds doubles, which a program registers and no file can.
func registry(t *testing.T) *executor.Registry {
	t.Helper()
	r, err := executor.NewRegistry(
		[]executor.Harness{executor.HarnessFixture, executor.HarnessWorkflow},
		executor.Executor{Kind: task.ExecutorAgent, ID: "local-agent", Harness: executor.HarnessFixture},
		executor.Executor{Kind: task.ExecutorAgent, ID: "sched-agent", Harness: executor.HarnessFixture, SchedulerTools: true},
		executor.Executor{Kind: task.ExecutorAgent, ID: "remote-agent", Remote: true},
		executor.Executor{Kind: task.ExecutorAgent, ID: "engineer", Harness: executor.HarnessClaude, Sandbox: &executor.Sandbox{}},
		executor.Executor{Kind: task.ExecutorTeam, ID: "local-team", Harness: executor.HarnessFixture},
		executor.Executor{Kind: task.ExecutorTeam, ID: "sched-led", Leader: "sched-agent", Members: []string{"local-agent"}},
		executor.Executor{Kind: task.ExecutorTeam, ID: "sched-member", Leader: "local-agent", Members: []string{"sched-agent"}},
		executor.Executor{Kind: task.ExecutorWorkflow, ID: "local-workflow", Name: "Local", Steps: []string{"one"}},
	)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func ids(r *executor.Registry) string {
	var all []string
	for _, e := range r.All() {
		all = append(all, e.ID)
	}
	return strings.Join(all, " ")
}

func TestRegistryDefaults(t *testing.T) {
	t.Parallel()
	r := registry(t)
	agent, _ := r.Agent("local-agent")
	engineer, _ := r.Agent("engineer")
	workflow, _ := r.Workflow("local-workflow")
	led, _ := r.Team("sched-led")
	team, _ := r.Team("local-team")
	got := []any{agent.Name, agent.Limits, engineer.Limits, workflow.Name, workflow.Harness, led.Harness, team.Harness, r.Revision()}
	want := []any{
		"local-agent", executor.PlainLimits(), executor.SandboxLimits(), "Local", executor.HarnessWorkflow, executor.HarnessTeam,
		executor.HarnessFixture, "",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestRunnable(t *testing.T) {
	t.Parallel()
	r := registry(t)
	for _, e := range r.All() {
		want := e.ID != "engineer" && e.Harness != executor.HarnessTeam
		if got := e.Runnable(); (got == nil) != want {
			t.Errorf("%s: %v", e.ID, got)
		}
	}
	rule(t, executor.Executor{Kind: task.ExecutorAgent, ID: "x", Harness: executor.HarnessFixture}.Runnable(),
		"The agent x cannot run yet: this deployment does not run the harness fixture")
}

func TestRegistryRefuses(t *testing.T) {
	t.Parallel()
	a := executor.Executor{Kind: task.ExecutorAgent, ID: "a"}
	for want, executors := range map[string][]executor.Executor{
		"registered twice":  {a, a},
		"empty or reserved": {{Kind: task.ExecutorAgent}},
		"reserved":          {{Kind: task.ExecutorTeam, ID: "platform-manager-internal"}},
		"unknown kind":      {{Kind: "engineering", ID: "a"}},
	} {
		if r, err := executor.NewRegistry(nil, executors...); err == nil || r != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, %v; want an error with %q", r, err, want)
		}
	}
}

func TestRegistryIsImmutable(t *testing.T) {
	t.Parallel()
	file, err := executor.Parse([]byte(agent()), executor.Options{Available: []executor.Harness{executor.HarnessFixture}})
	if err != nil {
		t.Fatal(err)
	}
	double := executor.Executor{Kind: task.ExecutorAgent, ID: "vanishing", Harness: executor.HarnessFixture}
	more, err := file.With(double)
	if err != nil {
		t.Fatal(err)
	}
	less := more.Without(task.ExecutorAgent, "a")
	file.All()[0].ID = "changed"
	if got := []string{ids(file), ids(more), ids(less)}; !cmp.Equal(got, []string{"a", "a vanishing", "vanishing"}) {
		t.Errorf("got %q", got)
	}
	if e, ok := less.Agent("vanishing"); !ok || e.Runnable() != nil {
		t.Errorf("found %t, %v", ok, e.Runnable())
	}
	if _, ok := less.Agent("a"); ok {
		t.Error("the executor is still found")
	}
	if file.Revision() == "" || more.Revision() != file.Revision() || less.Revision() != file.Revision() {
		t.Error("the revision is the file's")
	}
	if _, err := more.With(double); err == nil {
		t.Error("an id was taken twice")
	}
}

// TestTeamsThatCannotRun: a team's agents work without a sandbox, because it does.
func TestTeamsThatCannotRun(t *testing.T) {
	t.Parallel()
	agent := func(id string, h executor.Harness, sandbox *executor.Sandbox) executor.Executor {
		return executor.Executor{Kind: task.ExecutorAgent, ID: id, Harness: h, Sandbox: sandbox}
	}
	for name, c := range map[string]struct {
		member executor.Executor
		want   string
	}{
		"good":      {agent("b", executor.HarnessModel, nil), ""},
		"a fixture": {agent("b", executor.HarnessFixture, nil), ""},
		"a sandbox": {agent("b", executor.HarnessFixture, &executor.Sandbox{}), "The team t cannot run: its agent b works in a sandbox"},
		"claude":    {agent("b", executor.HarnessClaude, &executor.Sandbox{}), "The team t cannot run: its agent b works in a sandbox"},
		"missing":   {agent("c", executor.HarnessModel, nil), "The team t cannot run: its agent b is not registered"},
	} {
		r, err := executor.NewRegistry([]executor.Harness{executor.HarnessTeam}, agent("a", executor.HarnessModel, nil), c.member,
			executor.Executor{Kind: task.ExecutorTeam, ID: "t", Leader: "a", Members: []string{"b"}})
		if err != nil {
			t.Fatal(err)
		}
		team, _ := r.Team("t")
		got := ""
		if err := executor.CheckStart(team); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if n := len(r.AgentsOf(team)); c.want == "" && n != 2 {
			t.Errorf("%s: %d agents", name, n)
		}
	}
}
