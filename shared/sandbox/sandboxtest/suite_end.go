package sandboxtest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"companyos/shared/agent/gittest"
	"companyos/shared/agent/redact"
	"companyos/shared/sandbox"
	"companyos/shared/task"
	"companyos/shared/wire"
)

func mustJSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// stubborn starts an agent that writes a file, leaves an escapee and then hears nothing.
func (w *world) stubborn(t *testing.T) (l *Launch, handle, name string) {
	t.Helper()
	l = w.api.Add(w.work(), nil)
	name = word(l)
	steps := Script(Do("write", map[string]any{"path": "half.md", "content": "half\n"}), escapee(name), unheeding(name))
	l.Work.InputURL = w.api.Put("inputs/"+name, []byte(mustJSON(steps)))
	handle = w.start(t, l)
	l.AwaitEvent(t, "the last command runs", func(e wire.Event) bool { return running(e) && e.ToolID == "3" })
	w.awaitAlive(t, name)
	return l, handle, name
}

func killedMidRun(t *testing.T, b Bundle) {
	w := setup(t, b)
	l, handle, name := w.stubborn(t)
	b.Kill(t, handle)
	status := w.awaitStopped(t, handle, settles)
	if status.Reason != task.EndLost {
		t.Errorf("status %+v, want reason lost", status)
	}
	w.noneAlive(t, name)
	if l.Reports() != 0 || len(l.Instances()) != 1 {
		t.Errorf("%d reports, %d instances", l.Reports(), len(l.Instances()))
	}
}

// stopped: an agent that listens ends at once, and what it did is reported.
func stopped(t *testing.T, b Bundle) {
	w := setup(t, b)
	l := w.launch(Do("write", map[string]any{"path": "half.md", "content": "half\n"}), Do("run", []string{"sleep", "600"}), Do("answer", "never"))
	handle := w.start(t, l)
	l.AwaitEvent(t, "a command runs", running)
	if err := w.launcher.Stop(t.Context(), handle, "test"); err != nil {
		t.Fatal(err)
	}
	result := l.Await(t)
	if result.Kind != task.EndInterrupted || result.Patch == nil || !strings.Contains(string(l.Artifact(wire.ArtifactPatch)), "+half") {
		t.Errorf("result %+v", result)
	}
	w.awaitStopped(t, handle, b.Grace+settles)
	if err := w.launcher.Stop(t.Context(), handle, "again"); err != nil {
		t.Errorf("Stop of a stopped one: %v", err)
	}
}

// stopUnheard: neither the agent nor its escapee listens, and the API is away, so that the supervisor cannot end either.
func stopUnheard(t *testing.T, b Bundle) {
	w := setup(t, b)
	_, handle, name := w.stubborn(t)
	w.api.Down(true)
	if err := w.launcher.Stop(t.Context(), handle, "test"); err != nil {
		t.Fatal(err)
	}
	w.awaitStopped(t, handle, b.Grace+settles)
	w.noneAlive(t, name)
}

// stopAfterRestart: another launcher over the same state finds and stops what the first one started.
func stopAfterRestart(t *testing.T, b Bundle) {
	w := setup(t, b)
	_, handle, name := w.stubborn(t)
	w.launcher = b.New(t)
	status, err := w.launcher.Describe(t.Context(), handle)
	if err != nil || status.State != sandbox.StateRunning || status.StartedAt.IsZero() {
		t.Fatalf("Describe: %+v, %v", status, err)
	}
	if err := w.launcher.Stop(t.Context(), handle, "test"); err != nil {
		t.Fatal(err)
	}
	w.awaitStopped(t, handle, b.Grace+settles)
	w.noneAlive(t, name)
}

func cancelInCheckout(t *testing.T, b Bundle) {
	w := setup(t, b)
	w.git.SetFault(w.repository.Name, gittest.FaultHang)
	l := w.launch(Do("answer", "never"))
	handle := w.start(t, l)
	l.AwaitEvent(t, "preparing", func(e wire.Event) bool { return e.Type == wire.EventPreparing })
	l.Cancel()
	if result := l.Await(t); result.Kind != task.EndCancelled || result.Content != "Run cancelled" || result.Patch != nil {
		t.Errorf("result %+v", result)
	}
	if len(l.Prepared()) != 0 {
		t.Errorf("prepared %+v", l.Prepared())
	}
	w.awaitStopped(t, handle, settles)
}

// cancelWithEscapee: the agent ignores signals and has a child in another session; both are dead when the one result
// arrives, and the patch is there.
func cancelWithEscapee(t *testing.T, b Bundle) {
	w := setup(t, b)
	l, handle, name := w.stubborn(t)
	l.Cancel()
	result := l.Await(t)
	w.noneAlive(t, name)
	if result.Kind != task.EndCancelled || result.Patch == nil || !strings.Contains(string(l.Artifact(wire.ArtifactPatch)), "+half") {
		t.Errorf("result %+v", result)
	}
	w.awaitStopped(t, handle, settles)
	if l.Reports() != 1 {
		t.Errorf("%d reports", l.Reports())
	}
}

// fenced: a run that was settled by somebody else is given up, without a report.
func fenced(t *testing.T, b Bundle) {
	w := setup(t, b)
	l, handle, name := w.stubborn(t)
	l.Settle()
	status := w.awaitStopped(t, handle, settles)
	if status.ExitCode == nil || *status.ExitCode != 10 || l.Reports() != 0 {
		t.Errorf("status %+v, %d reports", status, l.Reports())
	}
	w.noneAlive(t, name)
}

// apiDown: the API goes away while the agent works and comes back after its end.
func apiDown(t *testing.T, b Bundle) {
	w := setup(t, b)
	l := w.launch(Do("say", "working"), Do("sleep", "1500ms"), Do("say", "still working"), Do("answer", "done"))
	handle := w.start(t, l)
	l.AwaitEvent(t, "working", func(e wire.Event) bool { return e.Text == "working" })
	w.api.Down(true)
	time.Sleep(3 * time.Second)
	if status, err := w.launcher.Describe(t.Context(), handle); err != nil || status.State != sandbox.StateRunning {
		t.Errorf("while the API is away: %+v, %v", status, err)
	}
	w.api.Down(false)
	if result := l.Await(t); result.Kind != task.EndCompleted || result.Content != "done" {
		t.Errorf("result %+v", result)
	}
	l.AwaitEvent(t, "still working", func(e wire.Event) bool { return e.Text == "still working" })
	w.awaitStopped(t, handle, settles)
}

// answersLost: every call acts once though its first answer never arrives.
func answersLost(t *testing.T, b Bundle) {
	w := setup(t, b)
	for _, path := range []string{"claim", "prepared", "events", "artifacts", "result"} {
		w.api.DropAnswers("/sandbox/"+path, 1)
	}
	l := w.launch(Do("answer", "done"))
	handle := w.start(t, l)
	if result := l.Await(t); result.Content != "done" {
		t.Errorf("result %+v", result)
	}
	w.awaitStopped(t, handle, settles)
	if got := len(l.Instances()); got != 1 {
		t.Errorf("%d instances", got)
	}
	if l.Reports() != 2 || w.api.Calls("/sandbox/claim") != 2 {
		t.Errorf("%d reports and %d claims, want 2 and 2", l.Reports(), w.api.Calls("/sandbox/claim"))
	}
	seen := map[string]int{}
	for _, e := range l.Events() {
		seen[string(e.Type)+e.Text]++
	}
	for event, n := range seen {
		if n > 1 {
			t.Errorf("%q was stored %d times", event, n)
		}
	}
}

// uploadLost: the store lost what it took, the report says so, and it is uploaded again.
func uploadLost(t *testing.T, b Bundle) {
	w := setup(t, b)
	l := w.launch(Do("write", map[string]any{"path": "new.md", "content": "new\n"}), Do("answer", "done"))
	l.LoseUpload(wire.ArtifactPatch)
	l.LoseUpload(wire.ArtifactResult)
	handle := w.start(t, l)
	result := l.Await(t)
	if result == nil || result.Kind != task.EndCompleted {
		t.Fatalf("result %+v", result)
	}
	if patch := l.Artifact(wire.ArtifactPatch); result.Patch == nil || sum(string(patch)) != result.Patch.SHA256 {
		t.Errorf("patch %q", patch)
	}
	w.awaitStopped(t, handle, settles)
}

// uploadRefused: what the store will not take is left out of the report, which arrives all the same. Only without its
// patch a run is not completed; its answer is kept.
func uploadRefused(t *testing.T, b Bundle) {
	w := setup(t, b)
	for kind, want := range map[wire.ArtifactKind]task.EndKind{
		wire.ArtifactLog: task.EndCompleted, wire.ArtifactTranscript: task.EndCompleted, wire.ArtifactPatch: task.EndInternal,
	} {
		l := w.launch(Do("write", map[string]any{"path": "new.md", "content": "new\n"}), Do("answer", "all is done"))
		l.RefuseUpload(kind)
		handle := w.start(t, l)
		result := l.Await(t)
		if result.Kind != want || !strings.Contains(result.Content, "all is done") || (result.Patch == nil) != (kind == wire.ArtifactPatch) {
			t.Errorf("without its %s: %+v", kind, result)
		}
		l.AwaitEvent(t, "what is left out", func(e wire.Event) bool {
			return e.Type == wire.EventWarning && strings.Contains(e.Text, "The "+string(kind)+" could not be stored")
		})
		w.awaitStopped(t, handle, settles)
	}
}

// spy is a script that runs as the agent and looks for the supervisor's secrets wherever an agent can look. It prints what
// it could read, not what it read, so that redaction hides nothing from the test.
const spy = `
supervisor=$(awk '/^PPid/{print $2}' /proc/$PPID/status)
for pid in $supervisor; do
  for file in environ mem maps auxv io stack syscall; do
    if dd if=/proc/$pid/$file of=/dev/null bs=1 count=1 2>/dev/null && [ "$(head -c1 /proc/$pid/$file 2>/dev/null | wc -c)" = 1 ]; then echo "READ $file"; fi
  done
  ls /proc/$pid/fd >/dev/null 2>&1 && echo "READ fd"
  for fd in /proc/$pid/fd/* /proc/$pid/fd/3; do [ -e $fd ] && echo "OPEN $fd"; done
  readlink /proc/$pid/exe >/dev/null 2>&1 && echo "READ exe"
  readlink /proc/$pid/cwd >/dev/null 2>&1 && echo "READ cwd"
done
for name in %s; do
  env | grep -q "$name" && echo "FOUND env"
  case "$(cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\0' ' ')" in *"$name"*) echo "FOUND cmdline" ;; esac
  grep -rqs -- "$name" "$PWD" "$HOME" "$TMPDIR" && echo "FOUND files"
  git config -l 2>/dev/null | grep -q "$name" && echo "FOUND git config"
  ls /proc/self/fd | grep -qx 9 && echo "FOUND fd 9"
done
echo looked at $supervisor
`

// nothingToSteal plants a model key and a git token beside the launch's own tokens, and lets the agent look for them.
func nothingToSteal(t *testing.T, b Bundle) {
	w := setup(t, b)
	const key, gitToken = "sk-canary-model-key-4711", "ghs_CANARYgittoken0815"
	w.git.RequireToken(w.repository.Name, gitToken)
	l := w.launch()
	// Half a name each, joined by the shell, so that the script itself is no find.
	var names []string
	for _, name := range []string{key, gitToken, l.Token} {
		names = append(names, name[:6]+"''"+name[6:14])
	}
	script := fmt.Sprintf(spy, strings.Join(names, " "))
	l.Secrets["ANTHROPIC_API_KEY"], l.Secrets["GITHUB_READ_TOKEN"] = key, gitToken
	l.Work.InputURL = w.api.Put("inputs/spy", []byte(mustJSON(Script(
		map[string]any{"run": []string{"sh"}, "stdin": script}, Do("answer_output", true),
	))))
	w.start(t, l)
	result := l.Await(t)
	if result.Kind != task.EndCompleted || !strings.Contains(result.Content, "looked at ") {
		t.Fatalf("result %+v", result)
	}
	for line := range strings.Lines(result.Content) {
		if strings.HasPrefix(line, "READ") || strings.HasPrefix(line, "FOUND") || strings.HasPrefix(line, "OPEN") {
			t.Errorf("the agent: %s", strings.TrimSpace(line))
		}
	}
	// The canaries really were in play: git got its token, and only by a header.
	var authorized bool
	for _, request := range w.git.Requests() {
		authorized = authorized || request.Authorization != ""
	}
	if !authorized {
		t.Error("the fetch used no token")
	}
	stored := l.Stored()
	if _, found := redact.New(key, gitToken, l.Token).Bytes([]byte(stored)); found {
		t.Errorf("a secret is in what the API stores:\n%s", stored)
	}
}
