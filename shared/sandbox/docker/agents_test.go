//go:build docker && clis && linux

package docker_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"companyos/shared/agent/gittest"
	"companyos/shared/agent/modeltest"
	"companyos/shared/sandbox"
	"companyos/shared/sandbox/docker"
	"companyos/shared/sandbox/sandboxtest"
	"companyos/shared/task"
	"companyos/shared/wire"
)

// TestRealAgents: the real agents work in a container of the image, under the lock, with a read-only root.
func TestRealAgents(t *testing.T) {
	t.Parallel()
	for _, a := range []struct{ harness, version, model, key, baseURL string }{
		{"claude", "2.1.328", "claude-sonnet-4-6", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"},
		{"codex", "0.169.0", "gpt-5.5", "OPENAI_API_KEY", "OPENAI_BASE_URL"},
	} {
		t.Run(a.harness, func(t *testing.T) {
			t.Parallel()
			model, err := modeltest.Start("127.0.0.1:0", modeltest.Step{Run: "cat README.md; echo changed >> README.md"}, modeltest.Step{Say: "It says: {tool}"})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = model.Close() })
			host, err := gittest.Start(t.TempDir(), "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = host.Close() })
			repository, err := host.Create("octocat/hello")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := repository.Commit(gittest.Commit{Branch: "main", Message: "first", Files: map[string]gittest.File{"README.md": {Content: "Hello World!\n"}}}); err != nil {
				t.Fatal(err)
			}
			api := sandboxtest.NewAPI(t, "127.0.0.1:0")
			l := api.Add(wire.Work{
				Harness: a.harness, Model: a.model, Repository: &wire.WorkRepository{URL: repository.URL, Branch: "main"},
			}, map[string]any{"brief": "Say what the README says."})
			l.Secrets[a.key], l.Secrets[a.baseURL] = "sk-canary-of-the-container-1", model.URL
			launcher, err := docker.New(docker.Config{Image: os.Getenv("COMPANY_TEST_AGENTS"), Grace: grace, Prefix: "company-agents-"})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = launcher.Prune(context.Background(), time.Now().Add(time.Hour)) }) // those that have stopped
			handle, err := launcher.Start(t.Context(), sandbox.Spec{
				RunID: l.Work.RunID, Launch: 1, Token: l.Token, APIURL: api.URL, CPU: 1024, Memory: 2048, Disk: 21, Harness: a.harness,
			})
			if err != nil {
				t.Fatal(err)
			}
			result := l.AwaitFor(t, 90*time.Second)
			if result == nil || result.Kind != task.EndCompleted || !strings.Contains(result.Content, "Hello World!") {
				t.Errorf("%+v\n%s", result, l.Stored())
			}
			started := l.AwaitEvent(t, "the start", func(e wire.Event) bool { return e.Type == wire.EventStarted })
			if started.HarnessVersion != a.version || !strings.HasPrefix(started.Lock, "netlock, ") {
				t.Errorf("the image has version %q under %q, want %q under the lock", started.HarnessVersion, started.Lock, a.version)
			}
			if patch := string(l.Artifact(wire.ArtifactPatch)); !strings.Contains(patch, "+changed") {
				t.Errorf("patch %q", patch)
			}
			if status, err := launcher.Describe(t.Context(), handle); err != nil {
				t.Error(err)
			} else {
				t.Logf("%+v", status)
			}
		})
	}
}
