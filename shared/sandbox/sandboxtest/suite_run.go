package sandboxtest

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"sync"
	"testing"
	"time"

	"companyos/shared/agent/gittest"
	"companyos/shared/sandbox"
	"companyos/shared/task"
	"companyos/shared/wire"
)

func happyPath(t *testing.T, b Bundle) {
	w := setup(t, b)
	l := w.launch(
		Do("write", map[string]any{"path": "docs/new.md", "content": "new\n"}),
		Do("run", []string{"sh", "-c", "cat README.md && echo three >> src/main.txt"}),
		map[string]any{"answer_first_line": "README.md", "prefix": "README says: "},
	)
	handle := w.start(t, l)
	result := l.Await(t)
	if result == nil || result.Kind != task.EndCompleted || result.Content != "README says: Hello World!" {
		t.Fatalf("result %+v", result)
	}
	if got := l.Prepared(); len(got) != 1 || got[0].Commit != w.tip || got[0].URL != w.repository.URL || got[0].Branch != "main" {
		t.Errorf("prepared %+v, want one at %s", got, w.tip)
	}
	patch := string(l.Artifact(wire.ArtifactPatch))
	for _, part := range []string{"diff --git a/docs/new.md b/docs/new.md", "+new", "diff --git a/src/main.txt b/src/main.txt", "+three"} {
		if !strings.Contains(patch, part) {
			t.Errorf("the patch lacks %q:\n%s", part, patch)
		}
	}
	if p := result.Patch; p == nil || p.Files != 2 || p.SHA256 != sum(patch) || p.Size != int64(len(patch)) || p.Redacted {
		t.Errorf("result's patch %+v", p)
	}
	if result.Usage == nil || !result.Usage.CostKnown {
		t.Errorf("usage %+v", result.Usage)
	}
	var types []string
	for _, e := range l.Events() {
		types = append(types, string(e.Type))
	}
	if got := strings.Join(types, " "); got != "preparing started tool_started tool_finished usage message patched finished" {
		t.Errorf("events %s", got)
	}
	status := w.awaitStopped(t, handle, settles)
	if status.ExitCode == nil || *status.ExitCode != 0 || status.Reason != "" || status.RunID != l.Work.RunID || status.Launch != 1 {
		t.Errorf("status %+v", status)
	}
	if list, err := w.launcher.List(t.Context(), l.Work.RunID, 1); err != nil || len(list) != 1 || list[0].Handle != handle {
		t.Errorf("List: %+v, %v", list, err)
	}
}

// nextAttempt continues on the pin, with the changes and the conversation of the first, though the branch moved on.
func nextAttempt(t *testing.T, b Bundle) {
	w := setup(t, b)
	first := w.launch(
		Do("write", map[string]any{"path": "tool.sh", "content": "#!/bin/sh\necho tool\n", "executable": true}),
		Do("write", map[string]any{"path": "bin.dat", "content": "\x00\x01binary\x00"}),
		Do("write", map[string]any{"path": "link", "symlink": "../outside"}),
		Do("answer", "first"),
	)
	w.start(t, first)
	if result := first.Await(t); result.Kind != task.EndCompleted || result.Transcript == nil {
		t.Fatalf("first result %+v", result)
	}
	w.commit(t, gittest.Commit{Message: "later", Files: map[string]gittest.File{"LATER.md": {Content: "later\n"}}})

	work := w.work()
	work.Attempt, work.SessionID, work.Repository.Commit = 2, first.Work.SessionID, &w.tip
	patch, transcript := first.Artifact(wire.ArtifactPatch), first.Artifact(wire.ArtifactTranscript)
	work.Patch = &wire.WorkPatch{URL: w.api.Put("patch", patch), SHA256: sum(string(patch))}
	work.Session = &wire.WorkTranscript{TranscriptURL: w.api.Put("transcript", transcript), SHA256: sum(string(transcript))}
	look := `git rev-parse HEAD; ls LATER.md 2>&1; ./tool.sh; od -An -c bin.dat | head -1; readlink link; cat "$HOME/transcript.jsonl" | wc -l`
	second := w.api.Add(work, Script(Do("run", []string{"sh", "-c", look}), Do("answer_output", true)))
	w.start(t, second)
	result := second.Await(t)
	if result.Kind != task.EndCompleted {
		t.Fatalf("second result %+v", result)
	}
	for _, part := range []string{w.tip, "LATER.md", "No such file", "tool\n", `\0 001   b   i   n`, "../outside", "1"} {
		if !strings.Contains(result.Content, part) {
			t.Errorf("the second attempt's workspace lacks %q:\n%s", part, result.Content)
		}
	}
	if e := second.AwaitEvent(t, "started", func(e wire.Event) bool { return e.Type == wire.EventStarted }); !strings.Contains(e.Text, "goes on") {
		t.Errorf("started %+v", e)
	}
	if lines := strings.Count(string(second.Artifact(wire.ArtifactTranscript)), "\n"); lines != 2 {
		t.Errorf("the conversation has %d turns, want 2", lines)
	}
	if again := string(second.Artifact(wire.ArtifactPatch)); again != string(patch) {
		t.Errorf("the unchanged workspace gives another patch:\n%s", again)
	}
}

// wrongPin ends before the agent: no event of it, no result.
func wrongPin(t *testing.T, b Bundle) {
	w := setup(t, b)
	l := w.launch(Do("answer", "never"))
	l.Pin = strings.Repeat("a", 40)
	handle := w.start(t, l)
	if result := l.Await(t); result != nil {
		t.Errorf("a result was reported: %+v", result)
	}
	status := w.awaitStopped(t, handle, settles)
	if status.ExitCode == nil || *status.ExitCode != 0 {
		t.Errorf("status %+v", status)
	}
	for _, e := range l.Events() {
		if e.Type == wire.EventStarted {
			t.Error("the agent was started")
		}
	}
}

func duplicateStart(t *testing.T, b Bundle) {
	w := setup(t, b)
	l := w.launch(Do("sleep", "300ms"), Do("answer", "once"))
	other := b.New(t)
	handles := make([]string, 8)
	var wait sync.WaitGroup
	for i := range handles {
		wait.Go(func() {
			launcher := []sandbox.Sandboxes{w.launcher, other}[i%2]
			handle, err := launcher.Start(t.Context(), w.spec(l))
			if err != nil {
				t.Errorf("Start: %v", err)
			}
			handles[i] = handle
		})
	}
	wait.Wait()
	for _, handle := range handles {
		if handle != handles[0] {
			t.Errorf("handles differ: %q and %q", handle, handles[0])
		}
	}
	if result := l.Await(t); result.Content != "once" {
		t.Errorf("result %+v", result)
	}
	w.awaitStopped(t, handles[0], settles)
	if handle, err := w.launcher.Start(t.Context(), w.spec(l)); err != nil || handle != handles[0] {
		t.Errorf("Start after the end: %q, %v", handle, err)
	}
	if got := l.Instances(); len(got) != 1 || l.Reports() != 1 {
		t.Errorf("%d instances, %d reports; want one of each", len(got), l.Reports())
	}
}

// sameTokenTwice starts two supervisors with one token: one works, the other is fenced.
func sameTokenTwice(t *testing.T, b Bundle) {
	w := setup(t, b)
	l := w.launch(Do("sleep", "500ms"), Do("answer", "done"))
	thief := w.spec(l)
	thief.Launch = 7
	first := w.start(t, l)
	second, err := w.launcher.Start(t.Context(), thief)
	if err != nil {
		t.Fatal(err)
	}
	if result := l.Await(t); result.Kind != task.EndCompleted {
		t.Errorf("result %+v", result)
	}
	codes := []int{}
	for _, handle := range []string{first, second} {
		if status := w.awaitStopped(t, handle, settles); status.ExitCode != nil {
			codes = append(codes, *status.ExitCode)
		}
	}
	if len(codes) != 2 || codes[0]+codes[1] != 10 {
		t.Errorf("exit codes %v, want 0 and 10", codes)
	}
	if len(l.Instances()) != 2 || len(l.Prepared()) != 1 || l.Reports() != 1 {
		t.Errorf("%d instances asked, %d prepared, %d reported; want 2, 1, 1", len(l.Instances()), len(l.Prepared()), l.Reports())
	}
}

func tokenAfterTheEnd(t *testing.T, b Bundle) {
	w := setup(t, b)
	l := w.launch(Do("answer", "done"))
	w.start(t, l)
	l.Await(t)
	again := w.spec(l)
	again.Launch = 2
	handle, err := w.launcher.Start(t.Context(), again)
	if err != nil {
		t.Fatal(err)
	}
	if status := w.awaitStopped(t, handle, settles); status.ExitCode == nil || *status.ExitCode != 10 {
		t.Errorf("status %+v, want exit code 10", status)
	}
	if len(l.Prepared()) != 1 || l.Reports() != 1 {
		t.Errorf("%d prepared, %d reported", len(l.Prepared()), l.Reports())
	}
}

func unknown(t *testing.T, b Bundle) {
	w := setup(t, b)
	l := w.launch(Do("answer", "never started"))
	list, err := w.launcher.List(t.Context(), l.Work.RunID, 1)
	if err != nil || len(list) != 0 {
		t.Errorf("List: %+v, %v", list, err)
	}
	for _, handle := range []string{l.Work.RunID + "-1", "no such handle", "../../etc/passwd", ""} {
		if status, err := w.launcher.Describe(t.Context(), handle); err != nil || status.State != sandbox.StateMissing {
			t.Errorf("Describe(%q): %+v, %v", handle, status, err)
		}
		if err := w.launcher.Stop(t.Context(), handle, "test"); err != nil {
			t.Errorf("Stop(%q): %v", handle, err)
		}
	}
}

func sum(content string) string {
	hash := sha256.Sum256([]byte(content))
	return hex.EncodeToString(hash[:])
}

// leavesNothingBehind: a daemon that the agent leaves does not outlive a run that ended well, nor hold it up.
func leavesNothingBehind(t *testing.T, b Bundle) {
	w := setup(t, b)
	l := w.api.Add(w.work(), nil)
	name := word(l)
	l.Work.InputURL = w.api.Put("inputs/"+name, []byte(mustJSON(Script(escapee(name), Do("answer", "done")))))
	handle := w.start(t, l)
	begun := time.Now()
	if result := l.Await(t); result.Kind != task.EndCompleted {
		t.Errorf("result %+v", result)
	}
	w.noneAlive(t, name)
	w.awaitStopped(t, handle, settles)
	if took := time.Since(begun); took > 15*time.Second {
		t.Errorf("it took %s", took)
	}
}
