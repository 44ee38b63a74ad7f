package local_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"companyos/shared/agent/gittest"
	"companyos/shared/company"
	"companyos/shared/task"
	"companyos/shared/wire"
)

// program is functions/local as its users run it, on a folder of this test.
type program struct {
	t      testing.TB
	bin    string
	folder string
	addr   string
	git    *gittest.Server
	repo   *gittest.Repository
	cmd    *exec.Cmd
	out    *lines
	client *wire.Client
	more   []string // further settings
}

// lines collects what a program prints.
type lines struct {
	mu  sync.Mutex
	all []string
}

func (l *lines) find(prefix string) (string, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.all {
		if rest, ok := strings.CutPrefix(line, prefix); ok {
			return rest, true
		}
	}
	return "", false
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var told []string
	for _, line := range l.all {
		if !strings.Contains(line, `"method":"GET"`) { // the test's own polling
			told = append(told, line)
		}
	}
	return strings.Join(told, "\n")
}

var build = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "company-local-")
	if err != nil {
		return "", err
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return "", err
	}
	bin := filepath.Join(dir, "local")
	out, err := exec.Command("go", "build", "-o", bin, "companyos/functions/local").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return bin, nil
})

// newProgram makes a folder with a git repository and executors whose script every attempt of engineer plays.
func newProgram(t testing.TB, script string, more ...string) *program {
	t.Helper()
	bin, err := build()
	if err != nil {
		t.Fatal(err)
	}
	p := &program{t: t, bin: bin, folder: t.TempDir(), more: more}
	for dir := p.folder; dir != "/" && dir != os.TempDir(); dir = filepath.Dir(dir) { // the agent's user passes through
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if p.git, err = gittest.Start(filepath.Join(p.folder, "git"), "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.git.Close() })
	if p.repo, err = p.git.Create("o/r"); err != nil {
		t.Fatal(err)
	}
	if _, err := p.repo.Commit(gittest.Commit{Branch: "main", Message: "m", Files: map[string]gittest.File{"README.md": {Content: "Hello\n"}}}); err != nil {
		t.Fatal(err)
	}
	executors := fmt.Sprintf("agents:\n  - id: engineer\n    harness: fixture\n    repository: {url: %q, branch: main}\n    sandbox: {limits: {cancel_grace: 3s, output: 64MiB}}\n    fixture: %s\n", p.repo.URL, script)
	if err := os.WriteFile(p.path("executors.yaml"), []byte(executors), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p.addr = l.Addr().String() // supervisors report to the same address after a restart
	l.Close()
	t.Cleanup(p.end)
	p.start()
	return p
}

func (p *program) path(name string) string { return filepath.Join(p.folder, name) }

func (p *program) start() {
	p.t.Helper()
	args := append([]string{"-addr", p.addr, "-data", p.path("data"), "-executors", p.path("executors.yaml"), "-git-hosts", p.git.URL}, p.more...)
	p.cmd = exec.Command(p.bin, args...)
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	p.cmd.Stderr = p.cmd.Stdout
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.out = &lines{}
	go func(out *lines) {
		for s := bufio.NewScanner(stdout); s.Scan(); {
			out.mu.Lock()
			out.all = append(out.all, s.Text())
			out.mu.Unlock()
		}
	}(p.out)
	p.until("the Company to start", 90*time.Second, func() bool {
		token, ok := p.out.find("export TOKEN=")
		p.client = wire.NewClient("http://"+p.addr, token, nil)
		return ok
	})
}

// kill is the worst end of the server: nothing is said and nothing cleaned up.
func (p *program) kill() {
	p.t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		p.t.Fatal(err)
	}
	_ = p.cmd.Wait()
}

// stop is a clean shutdown.
func (p *program) stop() {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGINT); err != nil {
		p.t.Fatal(err)
	}
	if err := p.cmd.Wait(); err != nil {
		p.t.Fatalf("the server did not end well: %v\n%s", err, p.out)
	}
}

// end stops whatever the test left, the sandboxes and the database too.
func (p *program) end() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
	reset := exec.Command(p.bin, append([]string{"-addr", "127.0.0.1:0", "-data", p.path("data"), "-reset"}, p.more...)...)
	out := &lines{}
	stdout, err := reset.StdoutPipe()
	if err != nil || reset.Start() != nil {
		p.t.Error("the data folder was not reset", err)
		return
	}
	go func() {
		for s := bufio.NewScanner(stdout); s.Scan(); {
			out.mu.Lock()
			out.all = append(out.all, s.Text())
			out.mu.Unlock()
		}
	}()
	p.until("the reset", 90*time.Second, func() bool { _, ok := out.find("Company is at"); return ok })
	_ = reset.Process.Signal(syscall.SIGINT)
	_ = reset.Wait()
}

func (p *program) until(what string, patience time.Duration, ok func() bool) {
	p.t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			p.t.Fatalf("waited %s for %s\n%s", patience, what, p.out)
		}
	}
}

// accepted is a Task that engineer may start.
func (p *program) accepted() wire.Task {
	p.t.Helper()
	ctx := p.t.Context()
	product := must(p.client.CreateProduct(ctx, wire.ProductCreate{Name: "P"}))(p.t)
	must(p.client.CreateSource(ctx, wire.SourceCreate{ProductID: product.ID, Source: wire.Source{Type: company.SourceGit, Reference: p.repo.URL}}))(p.t)
	project := must(p.client.CreateProject(ctx, wire.ProjectCreate{ProductID: product.ID, Name: "J"}))(p.t)
	t := must(p.client.CreateTask(ctx, wire.TaskCreate{ProductID: product.ID, ProjectID: project.ID, Title: "T"}))(p.t)
	kind, id := task.ExecutorAgent, "engineer"
	return must(p.client.MoveTask(ctx, t.ID, wire.TaskTransition{Target: task.StatusReady, Reason: "go", ExecutorType: &kind, ExecutorID: &id}))(p.t)
}

func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// settled waits for the end of the Task's attempt.
func (p *program) settled(id string) (t wire.Task) {
	p.t.Helper()
	p.until("the attempt to end", 3*time.Minute, func() bool {
		var err error
		t, err = p.client.Task(context.WithoutCancel(p.t.Context()), id)
		return err == nil && t.Result != nil
	})
	return t
}
