package sandboxtest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"companyos/shared/agent/gittest"
	"companyos/shared/sandbox"
	"companyos/shared/wire"
)

// Bundle is a launcher under test.
type Bundle struct {
	// New makes a launcher. Two of one test share their state: the second is the first after a restart.
	New func(t *testing.T) sandbox.Sandboxes
	// Kill ends a sandbox's supervisor from outside without a word, as a lost host or the kernel's memory killer does.
	Kill func(t *testing.T, handle string)
	// Alive counts the processes of all sandboxes whose command line holds a word.
	Alive func(t *testing.T, word string) int
	// Addr is where the test's servers listen so that a sandbox reaches them.
	Addr string
	// Grace is the longest time between a Stop and the end of a sandbox that does not listen to it.
	Grace time.Duration
	// NoLock says that no lock holds the agents here, so what it is for is not tried.
	NoLock bool
}

// Run runs the whole suite.
func Run(t *testing.T, b Bundle) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, Bundle){
		"HappyPath":           happyPath,
		"NextAttempt":         nextAttempt,
		"WrongPin":            wrongPin,
		"DuplicateStart":      duplicateStart,
		"SameTokenTwice":      sameTokenTwice,
		"TokenAfterTheEnd":    tokenAfterTheEnd,
		"KilledMidRun":        killedMidRun,
		"Stop":                stopped,
		"StopUnheard":         stopUnheard,
		"StopAfterRestart":    stopAfterRestart,
		"CancelInCheckout":    cancelInCheckout,
		"CancelWithEscapee":   cancelWithEscapee,
		"Fenced":              fenced,
		"APIDown":             apiDown,
		"AnswersLost":         answersLost,
		"UploadLost":          uploadLost,
		"UploadRefused":       uploadRefused,
		"NothingToSteal":      nothingToSteal,
		"Canary":              canary,
		"Rampage":             rampage,
		"Unknown":             unknown,
		"LeavesNothingBehind": leavesNothingBehind,
	} {
		if b.NoLock && (name == "Canary" || name == "Rampage") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, b)
		})
	}
}

// world is what one test needs: an API, a repository, a launcher.
type world struct {
	b          Bundle
	api        *API
	git        *gittest.Server
	repository *gittest.Repository
	tip        string
	launcher   sandbox.Sandboxes
}

const readme = "Hello World!\n\nA repository for tests.\n"

func setup(t *testing.T, b Bundle) *world {
	t.Helper()
	w := &world{b: b, api: NewAPI(t, b.Addr), launcher: b.New(t)}
	var err error
	if w.git, err = gittest.Start(t.TempDir(), b.Addr); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.git.Close() })
	if w.repository, err = w.git.Create("octocat/hello"); err != nil {
		t.Fatal(err)
	}
	w.tip = w.commit(t, gittest.Commit{Message: "first", Files: map[string]gittest.File{
		"README.md": {Content: readme}, "src/main.txt": {Content: "one\ntwo\n"}, "tool.sh": {Content: "#!/bin/sh\n", Executable: true},
	}})
	return w
}

func (w *world) commit(t *testing.T, c gittest.Commit) string {
	t.Helper()
	c.Branch = "main"
	id, err := w.repository.Commit(c)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// work is a first attempt on the repository.
func (w *world) work() wire.Work {
	return wire.Work{Repository: &wire.WorkRepository{URL: w.repository.URL, Branch: "main"}}
}

// launch makes a launch whose fixture does these steps.
func (w *world) launch(steps ...map[string]any) *Launch { return w.api.Add(w.work(), Script(steps...)) }

func (w *world) spec(l *Launch) sandbox.Spec {
	return sandbox.Spec{
		RunID: l.Work.RunID, Launch: l.Work.Launch, Token: l.Token, APIURL: w.api.URL, CPU: 256, Memory: 512, Disk: 21, Harness: l.Work.Harness,
	}
}

func (w *world) start(t *testing.T, l *Launch) string {
	t.Helper()
	handle, err := w.launcher.Start(t.Context(), w.spec(l))
	if err != nil {
		t.Fatalf("Start: %v", err)
	}
	t.Cleanup(func() { // a failed test leaves nothing running
		_ = w.launcher.Stop(t.Context(), handle, "the test is over")
	})
	return handle
}

// awaitStopped waits until nothing of a sandbox runs.
func (w *world) awaitStopped(t *testing.T, handle string, within time.Duration) sandbox.Status {
	t.Helper()
	var status sandbox.Status
	for deadline := time.Now().Add(within); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		var err error
		if status, err = w.launcher.Describe(t.Context(), handle); err != nil {
			t.Fatalf("Describe: %v", err)
		}
		if status.State.Stopped() {
			return status
		}
	}
	t.Fatalf("%s still runs after %s: %+v", handle, within, status)
	return status
}

// settles is how long a sandbox may take from its report to its end.
const settles = 10 * time.Second

// escapee is a step that leaves the agent's session and process group, closes its streams, ignores every signal that can
// be ignored, and has a word in its command line by which it is found. "read" waits in the shell itself, so that no child
// has another command line.
func escapee(word string) map[string]any {
	script := fmt.Sprintf(`trap '' INT TERM HUP; (setsid sh -c 'trap "" INT TERM HUP; while :; do sleep 60; done' %s </dev/null >/dev/null 2>&1 &) ; sleep 0.2`, word)
	return Do("run", []string{"sh", "-c", script})
}

// unheeding is a step that hears no signal and goes on for long.
func unheeding(word string) map[string]any {
	return Do("run", []string{"sh", "-c", "trap '' INT TERM HUP; while :; do sleep 60; done", word})
}

func running(e wire.Event) bool { return e.Type == wire.EventToolStarted }

func word(l *Launch) string { return "word-" + strings.ReplaceAll(l.Work.RunID, "-", "") }

// awaitAlive waits until a word's processes run, so that a later absence means something.
func (w *world) awaitAlive(t *testing.T, word string) {
	t.Helper()
	for deadline := time.Now().Add(15 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if w.b.Alive(t, word) > 0 {
			return
		}
	}
	t.Fatalf("no process with %s ever ran", word)
}

func (w *world) noneAlive(t *testing.T, word string) {
	t.Helper()
	if n := w.b.Alive(t, word); n != 0 {
		t.Errorf("%d processes with %s are still alive", n, word)
	}
}
