package agent_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"companyos/shared/agent"
	"companyos/shared/agent/gittest"
	"companyos/shared/sandbox/sandboxtest"
	"companyos/shared/task"
	"companyos/shared/wire"
)

// bundle is an API, a repository, and supervisors as processes of their own.
type bundle struct {
	api        *sandboxtest.API
	host       *gittest.Server
	repository *gittest.Repository
}

func setup(t testing.TB) *bundle {
	t.Helper()
	host, err := gittest.Start(t.TempDir(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = host.Close() })
	b := &bundle{host: host, api: sandboxtest.NewAPI(t, "127.0.0.1:0")}
	if b.repository, err = host.Create("octocat/hello"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.repository.Commit(gittest.Commit{Branch: "main", Message: "first", Files: map[string]gittest.File{"README.md": {Content: "Hello World!\n"}}}); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bundle) work(change func(*wire.Work)) wire.Work {
	work := wire.Work{Repository: &wire.WorkRepository{URL: b.repository.URL, Branch: "main"}}
	if change != nil {
		change(&work)
	}
	return work
}

var lastUID atomic.Int64

// process is a supervisor that runs.
type process struct {
	cmd *exec.Cmd
	dir string
	log bytes.Buffer
}

// start starts a supervisor for a launch, with the token in a pipe.
func (b *bundle) start(t testing.TB, token string, env ...string) *process {
	t.Helper()
	top, err := os.MkdirTemp("", "company-test-") //nolint:usetesting // t.TempDir is closed to other users
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(top) })
	if err := os.Chmod(top, 0o711); err != nil {
		t.Fatal(err)
	}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: exec.CommandContext(t.Context(), os.Args[0], "sandbox"), dir: filepath.Join(top, "launch")}
	p.cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), agent.EnvAPI + "=" + b.api.URL, agent.EnvTokenFD + "=3", agent.EnvDir + "=" + p.dir,
		agent.EnvSelf + "=" + self(t), agent.EnvLaunch + "=" + filepath.Base(top),
	}
	p.cmd.Env = append(p.cmd.Env, env...)
	if os.Getuid() == 0 {
		id := strconv.Itoa(1_000_000 + os.Getpid()%20_000*100 + int(lastUID.Add(1))) // of no other test that runs
		p.cmd.Env = append(p.cmd.Env, agent.EnvUID+"="+id, agent.EnvGID+"="+id)
	}
	p.cmd.ExtraFiles, p.cmd.Stderr = []*os.File{read}, &p.log
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := write.WriteString(token); err != nil {
		t.Fatal(err)
	}
	for _, end := range []*os.File{read, write} {
		if err := end.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// self is the command by which the supervisor starts itself again.
func self(t testing.TB) string {
	t.Helper()
	path := "/proc/self/exe" // an agent's user cannot reach the test's binary by its path
	if runtime.GOOS != "linux" {
		path = os.Args[0]
	}
	text, err := json.Marshal([]string{path, "sandbox"})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// wait waits for the supervisor's end and returns its exit code.
func (p *process) wait(t testing.TB) int {
	t.Helper()
	_ = p.cmd.Wait()
	return p.cmd.ProcessState.ExitCode()
}

// run runs an attempt with a script to its end.
func (b *bundle) run(t *testing.T, change func(*wire.Work), input any) (*sandboxtest.Launch, *wire.ResultFile, *process) {
	t.Helper()
	l := b.api.Add(b.work(change), input)
	p := b.start(t, l.Token)
	result := l.Await(t)
	if code := p.wait(t); code != 0 {
		t.Errorf("exit code %d, log:\n%s", code, p.log.String())
	}
	if result == nil {
		t.Fatalf("no result, log:\n%s", p.log.String())
	}
	return l, result, p
}

func do(name string, value any) map[string]any { return map[string]any{name: value} }

func TestEnds(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		fault   gittest.Fault
		work    func(*wire.Work)
		steps   []map[string]any
		kind    task.EndKind
		content string
		patch   bool
	}{
		{name: "failed", steps: []map[string]any{do("fail", "it broke")}, kind: task.EndFailed, content: "it broke"},
		{name: "exit code", steps: []map[string]any{do("answer", "lost"), do("exit", 3)}, kind: task.EndFailed, content: "The agent ended with exit code 3."},
		{name: "killed by itself", steps: []map[string]any{do("run", []string{"sh", "-c", "kill -9 $PPID"})}, kind: task.EndFailed, content: "The agent was killed."},
		{name: "no output", steps: []map[string]any{do("run", []string{"true"})}, kind: task.EndNoOutput, content: "The agent ended without an answer."},
		{name: "no such file", steps: []map[string]any{do("answer_first_line", "none")}, kind: task.EndFailed, content: "no such file"},
		{
			name: "run limit", work: func(w *wire.Work) { w.Limits.Run = 1 }, kind: task.EndRunTimeout, content: "run limit of 1s", patch: true,
			steps: []map[string]any{do("write", map[string]any{"path": "x", "content": "x"}), do("sleep", "1m")},
		},
		{
			name: "idle limit", work: func(w *wire.Work) { w.Limits.Idle, w.Limits.Run = 1, 60 }, kind: task.EndIdleTimeout, content: "idle limit of 1s", patch: true,
			steps: []map[string]any{do("write", map[string]any{"path": "x", "content": "x"}), do("sleep", "1m")},
		},
		{
			name: "not idle", work: func(w *wire.Work) { w.Limits.Idle = 1 }, kind: task.EndCompleted, content: "done",
			steps: []map[string]any{do("sleep", "600ms"), do("say", "a"), do("sleep", "600ms"), do("say", "b"), do("sleep", "600ms"), do("answer", "done")},
		},
		{
			name: "output limit", work: func(w *wire.Work) { w.Limits.Output = 10_000 }, kind: task.EndOutputLimit, content: "larger than the output limit.\n\nThe agent's answer was:\n\ndone",
			steps: []map[string]any{do("run", []string{"sh", "-c", "head -c 100000 /dev/urandom > big"}), do("answer", "done")},
		},
		{
			name: "prepare limit", fault: gittest.FaultHang, kind: task.EndCheckoutTimeout, content: "prepare limit of 1s",
			work: func(w *wire.Work) { w.Limits.Prepare = 1 },
		},
		{name: "no such harness", work: func(w *wire.Work) { w.Harness = "claude" }, kind: task.EndHarnessMissing, content: `"claude"`},
		{name: "no branch", work: func(w *wire.Work) { w.Repository.Branch = "none" }, kind: task.EndBranchMissing, content: "none"},
		{name: "no repository", work: func(w *wire.Work) { w.Repository = nil }, kind: task.EndInternal, content: "names no repository"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.host.SetFault(b.repository.Name, tt.fault)
			l, result, _ := b.run(t, tt.work, sandboxtest.Script(tt.steps...))
			if result.Kind != tt.kind || !strings.Contains(result.Content, tt.content) || (result.Patch != nil) != tt.patch {
				t.Errorf("result %+v", result)
			}
			events := l.Events()
			if last := events[len(events)-1]; last.Type != wire.EventFinished || last.Kind != tt.kind {
				t.Errorf("last event %+v", last)
			}
			if l.Artifact(wire.ArtifactLog) == nil {
				t.Error("no log")
			}
		})
	}
}

func TestScriptOfTheBrief(t *testing.T) {
	t.Parallel()
	b := setup(t)
	brief := "Please look.\nFIXTURE: " + `{"turns":[{"steps":[{"answer":"first"}]},{"steps":[{"answer_prompt":true}]}]}` + "\nThank you."
	input := map[string]any{"brief": brief, "script": map[string]any{"turns": []any{map[string]any{"steps": []any{do("answer", "the executor's")}}}}, "revision_reason": "Shorter, please."}
	for attempt, want := range map[int]string{1: "first", 2: "Shorter, please.", 5: "Shorter, please."} {
		_, result, _ := b.run(t, func(w *wire.Work) { w.Attempt, w.Instructions = attempt, "Be brief." }, input)
		if result.Kind != task.EndCompleted || !strings.Contains(result.Content, want) {
			t.Errorf("attempt %d: %+v", attempt, result)
		}
		if attempt > 1 && !strings.HasPrefix(result.Content, "Be brief.") {
			t.Errorf("the prompt lacks the instructions: %s", result.Content)
		}
	}
	_, result, _ := b.run(t, nil, map[string]any{"brief": `FIXTURE: {"turns":[{"steps":[{"answer":"x","fail":"y"}]}]}`})
	if result.Kind != task.EndFailed || !strings.Contains(result.Content, "has 2 actions") {
		t.Errorf("a bad script: %+v", result)
	}
}

// TestFlood prints a million lines, which are no events: the log is cut, the run ends well and the supervisor stays small.
func TestFlood(t *testing.T) {
	t.Parallel()
	b := setup(t)
	l := b.api.Add(b.work(nil), sandboxtest.Script(do("print_lines", 1_000_000), do("answer", "done")))
	p := b.start(t, l.Token)
	peak := make(chan int, 1)
	go func() { peak <- peakMemory(p.cmd.Process.Pid) }()
	result := l.Await(t)
	if code := p.wait(t); code != 0 {
		t.Errorf("exit code %d, log:\n%s", code, p.log.String())
	}
	if result.Kind != task.EndCompleted {
		t.Errorf("result %+v", result)
	}
	log := l.Artifact(wire.ArtifactLog)
	if len(log) > 9<<20 || !bytes.HasPrefix(log, []byte("[sandbox] checkout of")) || !bytes.Contains(log, []byte("line 1 of 1000000\n")) || !bytes.HasSuffix(log, []byte("the log is cut here\n")) {
		t.Errorf("a log of %d bytes: %.200s", len(log), log)
	}
	if runtime.GOOS == "linux" {
		if got := <-peak; got == 0 || got > 40<<10 {
			t.Errorf("the supervisor took %d KiB, want at most 40 MiB", got)
		}
	}
}

// peakMemory watches the most that a process has in memory until its end, in KiB. A process's own usage would count what
// its parent had when it was forked.
func peakMemory(pid int) (peak int) {
	for {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		_, rest, ok := strings.Cut(string(status), "VmHWM:")
		if err != nil || !ok {
			return peak
		}
		if fields := strings.Fields(rest); len(fields) > 0 {
			if n, err := strconv.Atoi(fields[0]); err == nil {
				peak = max(peak, n)
			}
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// TestManyEvents: past the bound events are counted and not kept, and the end gets through.
func TestManyEvents(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var steps []map[string]any
	for i := range 20_500 {
		steps = append(steps, do("say", strconv.Itoa(i)))
	}
	l, result, _ := b.run(t, nil, sandboxtest.Script(append(steps, do("answer", "done"))...))
	if result.Kind != task.EndCompleted {
		t.Errorf("result %+v", result)
	}
	events := l.Events()
	if n := len(events); n < 20_000 || n > 20_100 || events[n-1].Type != wire.EventFinished || events[n/2].Text == "" {
		t.Errorf("%d events, last %s", len(events), events[len(events)-1].Type)
	}
	for i, e := range events[2:20_000] { // after preparing and started, in order and without a gap
		if e.Text != strconv.Itoa(i) {
			t.Fatalf("event %d is %+v", i, e)
		}
	}
	l.AwaitEvent(t, "what was left out", func(e wire.Event) bool {
		return e.Type == wire.EventWarning && strings.Contains(e.Text, "found no room")
	})
}

// TestForgery: what an agent writes in the supervisor's name reaches nobody.
func TestForgery(t *testing.T) {
	t.Parallel()
	b := setup(t)
	forge := `
		d=$(dirname "$PWD")
		for f in private/result.json private/patch private/log result.json exit.json base.git/HEAD base.git/packed-refs; do echo forged > $d/$f && echo "WROTE $f"; done 2>/dev/null
		mkdir -p "$HOME"; ln -sf /etc/passwd "$HOME/transcript.jsonl"
		git update-ref HEAD 0000000000000000000000000000000000000000 2>/dev/null; echo 1111111111111111111111111111111111111111 > .git/HEAD
		echo done`
	l, result, _ := b.run(t, nil, sandboxtest.Script(do("run", []string{"sh", "-c", forge}), do("answer_output", true)))
	tip, err := b.repository.Tip("main")
	if err != nil {
		t.Fatal(err)
	}
	if got := l.Prepared(); len(got) != 1 || got[0].Commit != tip {
		t.Errorf("prepared %+v", got)
	}
	// An ordinary user's files are the agent's as well: there the uploads are what counts.
	if os.Getuid() == 0 && strings.Contains(result.Content, "WROTE") {
		t.Errorf("the agent %s", result.Content)
	}
	if bytes.Contains(l.Artifact(wire.ArtifactResult), []byte("forged")) || bytes.Contains(l.Artifact(wire.ArtifactPatch), []byte("forged")) {
		t.Error("something forged was uploaded")
	}
	if result.Kind != task.EndCompleted || result.Transcript != nil {
		t.Errorf("result %+v", result)
	}
}

func TestNoToken(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for token, want := range map[string]int{"": 11, "cl1.unknown": 12} {
		p := b.start(t, token)
		if code := p.wait(t); code != want {
			t.Errorf("token %q: exit code %d, want %d; log:\n%s", token, code, want, p.log.String())
		}
		var exit agent.ExitRecord
		text, err := os.ReadFile(filepath.Join(p.dir, agent.ExitFile))
		if err != nil || json.Unmarshal(text, &exit) != nil || exit.Code != want {
			t.Errorf("exit file %s, %v", text, err)
		}
	}
}

// TestHeartbeat: a run without events still asks whether it is to end.
func TestHeartbeat(t *testing.T) {
	t.Parallel()
	b := setup(t)
	l, _, _ := b.run(t, nil, sandboxtest.Script(do("sleep", "5s"), do("answer", "done")))
	if asked := l.Asked(); asked < 4 {
		t.Errorf("the API was asked %d times in 5 s", asked)
	}
}

// TestDamagedPatch: the earlier attempt's work is put back as it was stored, or the attempt says so and does not begin.
func TestDamagedPatch(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for name, patch := range map[string]*wire.WorkPatch{
		"another hash": {URL: b.api.Put("p1", []byte("x")), SHA256: strings.Repeat("0", 64)},
		"not there":    {URL: b.api.URL + "/sandbox/blobs/none", SHA256: strings.Repeat("0", 64)},
	} {
		l, result, _ := b.run(t, func(w *wire.Work) { w.Patch = patch }, sandboxtest.Script(do("answer", "never")))
		if result.Kind != task.EndInternal || !strings.Contains(result.Content, "earlier attempt's changes") {
			t.Errorf("%s: %+v", name, result)
		}
		for _, e := range l.Events() {
			if e.Type == wire.EventStarted {
				t.Errorf("%s: the agent was started", name)
			}
		}
	}
}

// TestWholeAnswer: an answer of many megabytes is cut in the result, and says so.
func TestWholeAnswer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	big := strings.Repeat("0123456789abcdef", 1<<17) // 2 MiB
	_, result, _ := b.run(t, nil, sandboxtest.Script(do("answer", big)))
	if result.Kind != task.EndCompleted || len(result.Content) > 1<<20+10 || !strings.HasSuffix(result.Content, "[cut]") {
		t.Errorf("kind %s, content of %d bytes", result.Kind, len(result.Content))
	}
}

func ExampleExit_String() {
	fmt.Println(agent.Exit{Reason: agent.ReasonReported, Kind: task.EndCompleted})
	// Output: reported (completed)
}
