package process_test

import (
	"encoding/json"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"companyos/shared/agent"
	"companyos/shared/sandbox"
	"companyos/shared/sandbox/process"
	"companyos/shared/sandbox/sandboxtest"
)

// TestMain lets the test's own binary be the supervisor, as the local program is.
func TestMain(m *testing.M) {
	agent.Reenter()
	os.Exit(m.Run())
}

const grace = 4 * time.Second

func launcher(t *testing.T, dir string) *process.Launcher {
	t.Helper()
	l, err := process.New(process.Config{Dir: dir, Files: files(t), Grace: grace})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// files is a directory for checkouts that an agent's user can pass through, unlike the test's own.
func files(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "company-test-") // t.TempDir is closed to other users
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func TestConformance(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	sandboxtest.Run(t, sandboxtest.Bundle{
		New: func(t *testing.T) sandbox.Sandboxes {
			t.Helper()
			return launcher(t, dir)
		},
		Kill: func(t *testing.T, handle string) {
			t.Helper()
			kill(t, dir, handle)
		},
		Alive: alive,
		Addr:  "127.0.0.1:0",
		Grace: grace, NoLock: runtime.GOOS != "linux",
	})
}

func kill(t *testing.T, dir, handle string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "launches", handle))
	if err != nil {
		t.Fatal(err)
	}
	var rec struct {
		PID int `json:"pid"`
	}
	if err := json.Unmarshal(text, &rec); err != nil || rec.PID < 2 {
		t.Fatalf("record %s: %v", text, err)
	}
	if err := syscall.Kill(rec.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

// alive looks for itself rather than with the code under test.
func alive(t *testing.T, word string) int {
	t.Helper()
	n := 0
	for _, line := range commandLines(t) {
		if strings.Contains(line, word) {
			n++
		}
	}
	return n
}

// commandLines reads /proc, and asks ps where there is none. A zombie has no command line.
func commandLines(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil {
			lines = append(lines, string(text))
		}
	}
	if len(files) > 0 {
		return lines
	}
	out, err := exec.CommandContext(t.Context(), "ps", "-axo", "args=").Output()
	if err != nil {
		t.Fatalf("ps: %v", err)
	}
	return strings.Split(string(out), "\n")
}

func spec() sandbox.Spec {
	return sandbox.Spec{RunID: "3f0c6d3e-9df1-4b63-8f55-1f3b6c1f2a10", Launch: 1, Token: "cl1.test", APIURL: "http://127.0.0.1:1", Harness: "fixture"}
}

func TestStartRefuses(t *testing.T) {
	t.Parallel()
	tests := map[string]func(*sandbox.Spec){
		"a model":    func(s *sandbox.Spec) { s.Harness = "model" },
		"no harness": func(s *sandbox.Spec) { s.Harness = "" },
		"a path":     func(s *sandbox.Spec) { s.RunID = "../../../../../tmp/aaaaaaaaaaaaaaaaaaaa" },
		"upper case": func(s *sandbox.Spec) { s.RunID = strings.ToUpper(s.RunID) },
		"no launch":  func(s *sandbox.Spec) { s.Launch = 0 },
		"no token":   func(s *sandbox.Spec) { s.Token = "" },
		"no API":     func(s *sandbox.Spec) { s.APIURL = "" },
	}
	dir := t.TempDir()
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := spec()
			change(&s)
			if _, err := launcher(t, dir).Start(t.Context(), s); !errors.Is(err, sandbox.ErrRefused) || sandbox.OutcomeOf(err) != sandbox.OutcomeFailed {
				t.Errorf("Start: %v", err)
			}
		})
	}
}

func TestNoBinary(t *testing.T) {
	t.Parallel()
	l, err := process.New(process.Config{Dir: t.TempDir(), Files: files(t), Binary: []string{"/nonexistent/supervisor"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Start(t.Context(), spec()); !errors.Is(err, sandbox.ErrImageUnavailable) {
		t.Errorf("Start: %v", err)
	}
	handle, err := l.Start(t.Context(), spec())
	if err != nil {
		t.Fatalf("a repeat: %v", err)
	}
	status, err := l.Describe(t.Context(), handle)
	if err != nil || status.State != sandbox.StateStopped || status.Reason != "image_unavailable" {
		t.Errorf("Describe: %+v, %v", status, err)
	}
}

// TestCrashedStart: the launcher died after it made the record, or while it wrote it. Nothing got a token.
func TestCrashedStart(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{"empty": "", "torn": `{"pid":`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			l := launcher(t, dir)
			handle := spec().RunID + "-1"
			path := filepath.Join(dir, "launches", handle)
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			file, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
				t.Fatal(err)
			}
			if status, err := l.Describe(t.Context(), handle); err != nil || status.State != sandbox.StateStarting {
				t.Errorf("while it is being made: %+v, %v", status, err)
			}
			if err := l.Stop(t.Context(), handle, "test"); err == nil {
				t.Error("Stop while it is being made was taken for done")
			}
			if err := file.Close(); err != nil {
				t.Fatal(err)
			}
			status, err := l.Describe(t.Context(), handle)
			for end := time.Now().Add(10 * time.Second); status.State == sandbox.StateStarting && time.Now().Before(end); {
				time.Sleep(time.Millisecond) // a program that another test starts has our descriptors, and so the lock, until its exec
				status, err = l.Describe(t.Context(), handle)
			}
			if err != nil || status.State != sandbox.StateStopped || status.Reason != "never_started" {
				t.Errorf("Describe: %+v, %v", status, err)
			}
		})
	}
}

// TestPrune: what stopped before a time is forgotten, and nothing else.
func TestPrune(t *testing.T) {
	t.Parallel()
	dir, api := t.TempDir(), sandboxtest.NewAPI(t, "127.0.0.1:0")
	l := launcher(t, dir)
	ended, underWay := spec(), spec()
	ended.APIURL, underWay.Launch = api.URL, 2 // an API that does not know its token
	handle, err := l.Start(t.Context(), ended)
	if err != nil {
		t.Fatal(err)
	}
	state := func(handle string) sandbox.State {
		status, err := l.Describe(t.Context(), handle)
		if err != nil {
			t.Fatal(err)
		}
		return status.State
	}
	for end := time.Now().Add(20 * time.Second); state(handle) != sandbox.StateStopped; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it did not end")
		}
	}
	other, err := os.OpenFile(filepath.Join(dir, "launches", underWay.RunID+"-2"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := syscall.Flock(int(other.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if err := l.Prune(t.Context(), time.Now().Add(-time.Hour)); err != nil || state(handle) != sandbox.StateStopped {
		t.Errorf("of an hour ago: %v, %s", err, state(handle))
	}
	if err := l.Prune(t.Context(), time.Now().Add(time.Hour)); err != nil || state(handle) != sandbox.StateMissing {
		t.Errorf("of now: %v, %s", err, state(handle))
	}
	if state(underWay.RunID+"-2") != sandbox.StateStarting {
		t.Error("one that is being started is forgotten")
	}
	left, err := filepath.Glob(filepath.Join(dir, "launches", handle+"*"))
	if err != nil || len(left) != 0 {
		t.Errorf("left %q, %v", left, err)
	}
}

// TestReusedPID: a record whose process id now belongs to somebody else.
func TestReusedPID(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := launcher(t, dir)
	bystander := exec.CommandContext(t.Context(), "sleep", "60")
	if err := bystander.Start(); err != nil {
		t.Fatal(err)
	}
	handle := spec().RunID + "-1"
	text, err := json.Marshal(map[string]any{"pid": bystander.Process.Pid, "start": "1", "dir": filepath.Join(dir, "none")})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "launches", handle), text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := l.Stop(t.Context(), handle, "test"); err != nil {
		t.Errorf("Stop: %v", err)
	}
	if status, err := l.Describe(t.Context(), handle); err != nil || !status.State.Stopped() || status.Reason != "lost" {
		t.Errorf("Describe: %+v, %v", status, err)
	}
	if err := bystander.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("the bystander was ended: %v", err)
	}
	if err := errors.Join(bystander.Process.Kill()); err != nil {
		t.Fatal(err)
	}
	_ = bystander.Wait()
}

// TestRunning: what a clean shutdown counts and a reset stops.
func TestRunning(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := launcher(t, dir)
	silent, err := net.Listen("tcp", "127.0.0.1:0") // an API that never answers
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	s := spec()
	s.APIURL = "http://" + silent.Addr().String()
	handle, err := l.Start(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	asked, err := silent.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer asked.Close()
	running, err := launcher(t, dir).Running(t.Context())
	if err != nil || len(running) != 1 || running[0].Handle != handle {
		t.Fatalf("Running: %+v, %v", running, err)
	}
	if err := l.Stop(t.Context(), handle, "reset"); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(2 * grace); ; time.Sleep(20 * time.Millisecond) {
		running, err := l.Running(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(running) == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("still running: %+v", running)
		}
	}
	if status, err := l.Describe(t.Context(), handle); err != nil || status.ExitCode == nil || *status.ExitCode != 15 {
		t.Errorf("Describe: %+v, %v", status, err)
	}
}
