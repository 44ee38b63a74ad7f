package agent_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"companyos/shared/agent"
	"companyos/shared/agent/proctree"
	"companyos/shared/sandbox/sandboxtest"
	"companyos/shared/task"
	"companyos/shared/wire"
)

// TestSavedPatch: the supervisor is killed while the agent works; what was saved before is there.
func TestSavedPatch(t *testing.T) {
	t.Parallel()
	b := setup(t)
	l := b.api.Add(b.work(nil), sandboxtest.Script(
		do("write", map[string]any{"path": "half.md", "content": "half\n"}), do("sleep", "2s"),
		do("write", map[string]any{"path": "more.md", "content": "more\n"}), do("sleep", "1m"),
	))
	p := b.start(t, l.Token, agent.EnvSave+"=200ms")
	patched := l.AwaitEvent(t, "a save of both files", func(e wire.Event) bool { // one may fall between a file and its content
		return e.Type == wire.EventPatched && e.Files == 2 && strings.Contains(string(l.Artifact(wire.ArtifactPatch)), "+more")
	})
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = p.cmd.Wait()
	if patch := string(l.Artifact(wire.ArtifactPatch)); !strings.Contains(patch, "+half") {
		t.Errorf("patch %q", patch)
	}
	saved := 0
	for _, e := range l.Events() {
		if e.Type == wire.EventPatched {
			saved++
		}
	}
	if saved > 4 || patched.At == 0 {
		t.Errorf("%d saves of two files", saved)
	}
	killed(t, p)
}

// killed ends what a killed supervisor left, as its launcher would.
func killed(t *testing.T, p *process) {
	t.Helper()
	match := proctree.WithEnvironment(agent.EnvLaunch + "=" + filepath.Base(filepath.Dir(p.dir)))
	if err := proctree.Kill(t.Context(), match); err != nil {
		t.Error(err)
	}
}

// TestSwappedDirectory: a folder that is a link to the supervisor's files by the time of the snapshot brings none of them
// into the patch.
func TestSwappedDirectory(t *testing.T) {
	t.Parallel()
	b := setup(t)
	swap := `mkdir -p docs && echo mine > docs/log && ( while :; do rm -rf docs; ln -s ../private docs; rm docs; mkdir docs; echo mine > docs/log; done ) >/dev/null 2>&1 & sleep 2`
	l, result, _ := b.run(t, func(w *wire.Work) {}, sandboxtest.Script(do("print_lines", 3), do("run", []string{"sh", "-c", swap}), do("answer", "done")))
	patch := string(l.Artifact(wire.ArtifactPatch))
	if result.Kind != task.EndCompleted || strings.Contains(patch, "line 1 of 3") || strings.Contains(patch, "[sandbox]") {
		t.Errorf("%+v\n%s", result, patch)
	}
}

// TestResourceLimits: the agent's processes, files and cores are bounded by themselves, whatever the platform bounds.
func TestResourceLimits(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		return // nothing but the fixture runs there
	}
	_, result, _ := setup(t).run(t, nil, sandboxtest.Script(do("run", []string{"bash", "-c", "ulimit -c; ulimit -u; ulimit -f"}), do("answer_output", true)))
	got := strings.Fields(result.Content)
	if len(got) != 3 || got[0] != "0" || os.Getuid() == 0 && got[1] != "2048" || got[2] == "unlimited" {
		t.Errorf("limits %q", got)
	}
}
