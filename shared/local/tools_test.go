//go:build clis && linux

package local_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"companyos/shared/agent/modeltest"
	"companyos/shared/task"
	"companyos/shared/wire"
)

// TestAgentProposes: Claude Code, given the Company's tools, proposes a Task from inside its sandbox. The Task waits for a
// person; that the agent sees no other Product is for the tests of the tools.
func TestAgentProposes(t *testing.T) {
	t.Parallel()
	p := newProgram(t, script(time.Second))
	accepted := p.accepted()
	model, err := modeltest.Start("127.0.0.1:0",
		modeltest.Step{Call: &modeltest.Call{Tool: "mcp__company__propose_task", Input: map[string]any{"title": "Found on the way", "project_id": accepted.ProjectID}}},
		modeltest.Step{Say: "Proposed."},
	)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = model.Close() })
	p.stop()
	executors := fmt.Sprintf("agents:\n  - id: engineer\n    harness: claude\n    model: claude-sonnet-4-6\n    repository: {url: %q, branch: main}\n    sandbox: {company: true, secrets: [ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL]}\n", p.repo.URL)
	for name, content := range map[string]string{
		p.path("executors.yaml"): executors,
		filepath.Join(p.path("data"), "secrets", "ANTHROPIC_API_KEY"):  "sk-ant-canary-0123456789",
		filepath.Join(p.path("data"), "secrets", "ANTHROPIC_BASE_URL"): model.URL,
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p.start()
	must(p.client.StartRun(t.Context(), accepted.ID, wire.TaskRunCreate{Attempt: 1}))(t)
	if got := p.settled(accepted.ID); got.Status != task.StatusInReview || got.Result.Content != "Proposed." {
		t.Fatalf("status %s, result %+v", got.Status, got.Result)
	}
	tasks := must(p.client.Tasks(t.Context(), wire.List{}))(t)
	for _, proposed := range tasks.Data {
		if proposed.Title == "Found on the way" {
			if proposed.Status != task.StatusBacklog || proposed.ProductID != accepted.ProductID {
				t.Errorf("proposed %+v", proposed)
			}
			return
		}
	}
	t.Errorf("nothing was proposed: %+v", tasks.Data)
}
