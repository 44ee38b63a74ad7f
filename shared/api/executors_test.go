package api_test

import (
	"context"
	"errors"
	"testing"

	"companyos/shared/executor"
	"companyos/shared/task"
)

// TestExecutors: what may be accepted, why one cannot be used, and a file that changes while the process runs.
func TestExecutors(t *testing.T) {
	t.Parallel()
	c := setup(t)
	registry, err := executor.NewRegistry([]executor.Harness{executor.HarnessFixture},
		executor.Executor{Kind: task.ExecutorAgent, ID: "engineer", Harness: executor.HarnessFixture, Model: "m", Sandbox: &executor.Sandbox{}, Repository: &executor.Repository{URL: repository, Branch: "main"}},
		executor.Executor{Kind: task.ExecutorAgent, ID: "norepo", Harness: executor.HarnessFixture, Sandbox: &executor.Sandbox{}},
		executor.Executor{Kind: task.ExecutorAgent, ID: "scheduler", Harness: executor.HarnessFixture, SchedulerTools: true},
		executor.Executor{Kind: task.ExecutorAgent, ID: "remote", Harness: executor.HarnessFixture, Remote: true},
		executor.Executor{Kind: task.ExecutorAgent, ID: "memory", Harness: executor.HarnessFixture, NoDatabase: true},
		executor.Executor{Kind: task.ExecutorAgent, ID: "claude", Harness: executor.HarnessClaude},
		executor.Executor{Kind: task.ExecutorTeam, ID: "team", Harness: executor.HarnessFixture, Leader: "engineer", Members: []string{"claude"}})
	if err != nil {
		t.Fatal(err)
	}
	c.app.Executors = executor.Static(registry)
	reasons := func(path string) map[string]any {
		out := map[string]any{}
		for _, e := range c.want(200, "GET", path, nil).body["data"].([]any) {
			record := e.(map[string]any)
			if record["usable"] != (record["reason"] == nil) || (record["reason"] == nil) != (record["remedy"] == nil) {
				t.Errorf("%v", record)
			}
			out[record["id"].(string)] = record["reason"]
		}
		return out
	}
	want := map[string]any{
		"engineer": nil, "team": nil,
		"norepo":    "Sandboxed executor requires repository=Repository(url, branch)",
		"scheduler": "Company executors cannot hold SchedulerTools",
		"remote":    "Task execution requires a local executor supported by the durable queue",
		"memory":    "Task executor requires a database for durable runs",
		"claude":    "The agent claude cannot run yet: this deployment does not run the harness claude",
	}
	for id, reason := range reasons("/company/executors") {
		if w, ok := want[id]; !ok || w != reason {
			t.Errorf("%s: %v, want %v", id, reason, w)
		}
	}
	product, _, _ := c.task()
	if got := reasons("/company/executors?product_id=" + product)["engineer"]; got != "Sandboxed executor requires a Product git Source matching repository URL "+repository {
		t.Errorf("without a Source: %v", got)
	}
	c.want(201, "POST", "/company/sources", map[string]any{"product_id": product, "type": "git", "reference": repository})
	if got := reasons("/company/executors?product_id=" + product)["engineer"]; got != nil {
		t.Errorf("with its Source: %v", got)
	}
	c.want(404, "GET", "/company/executors?product_id=none", nil)

	text, broken := "agents:\n  - {id: one, name: One, harness: fixture}\n", errors.New("away")
	source, err := executor.Open(t.Context(), func(context.Context) ([]byte, error) {
		if text == "" {
			return nil, broken
		}
		return []byte(text), nil
	}, executor.Options{File: "executors.yaml", Available: []executor.Harness{executor.HarnessFixture}})
	if err != nil {
		t.Fatal(err)
	}
	c.app.Executors = source
	first := c.want(200, "GET", "/company/executors", nil)
	text = "agents:\n  - {id: one, name: One, harness: fixture}\n  - {id: two, name: Two, harness: fixture}\n"
	second := c.want(200, "GET", "/company/executors", nil)
	if len(first.body["data"].([]any)) != 1 || len(second.body["data"].([]any)) != 2 || first.text("revision") == second.text("revision") || second.body["stale"] != false {
		t.Errorf("reload: %s, then %s", first.raw, second.raw)
	}
	for _, bad := range []string{"agents: [{id: X}]", ""} {
		text = bad
		third := c.want(200, "GET", "/company/executors", nil)
		if third.body["stale"] != true || len(third.body["data"].([]any)) != 2 || third.text("revision") != second.text("revision") {
			t.Errorf("a file with a fault: %s", third.raw)
		}
	}
}
