package local_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"companyos/shared/store"
	"companyos/shared/store/embedded"
	"companyos/shared/task"
	"companyos/shared/wire"
)

// The agent leaves a line for each time that it works, and waits where a test wants it to.
func script(folder string) string {
	return `{turns: [{steps: [{run: [sh, -c, "echo worked >> ` + folder + `/work; echo yes > ` + folder + `/started; while [ -e ` + folder + `/hold ]; do sleep 0.05; done"]}, {answer: done}]}]}`
}

// TestKill kills the server at each point of an attempt's life. After a restart the attempt has ended as the contract's
// recovery says, its work was done once, and every record is as it must be.
func TestKill(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		hold bool // the agent waits until the server is back
		lost bool // the launch may be lost: its token was on the way
		when func(p *program, run string)
	}{
		"after the reservation": {false, true, func(*program, string) {}},
		"after the launch": {true, true, func(p *program, run string) {
			p.until("the launch", 30*time.Second, func() bool {
				found, _ := filepath.Glob(filepath.Join(p.path("data"), "launches", run+"*"))
				return len(found) > 0
			})
		}},
		"in the middle": {true, false, func(p *program, _ string) {
			p.until("the agent", 60*time.Second, func() bool { return p.read("shared/started") != "" })
		}},
		"after the report": {false, false, func(p *program, run string) {
			p.until("the report", 60*time.Second, func() bool {
				r, err := p.client.Run(p.t.Context(), run)
				return err == nil && r.Status == string(task.StateCompleted)
			})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProgramIn(t)
			if c.hold {
				write(t, p.path("shared/hold"))
			}
			accepted := p.accepted()
			started := must(p.client.StartRun(t.Context(), accepted.ID, wire.TaskRunCreate{Attempt: 1}))(t)
			c.when(p, started.RunID)
			p.kill()
			p.start()
			if c.hold {
				if err := os.Remove(p.path("shared/hold")); err != nil {
					t.Fatal(err)
				}
			}
			got := p.settled(accepted.ID)
			want := 2
			switch {
			case got.Status == task.StatusInReview && got.Result.Status == task.ResultCompleted && got.Result.Content == "done":
			case c.lost && got.Status == task.StatusInProgress && got.Result.Status == task.ResultError:
				want = 1 // the supervisor never got its token, and said nothing
			default:
				t.Errorf("status %s, result %+v", got.Status, got.Result)
			}
			repeat := must(p.client.StartRun(t.Context(), accepted.ID, wire.TaskRunCreate{Attempt: 2}))(t)
			if repeat.RunID == started.RunID {
				t.Error("the second attempt is the first")
			}
			if again := p.settled(accepted.ID); again.Result.Status != task.ResultCompleted {
				t.Errorf("the next attempt: %+v", again.Result)
			}
			if n := p.worked(); n != want {
				t.Errorf("two attempts worked %d times, not %d", n, want)
			}
			p.invariants()
		})
	}
}

// newProgramIn is newProgram with a folder that the agent's user may write to.
func newProgramIn(t testing.TB) *program {
	t.Helper()
	shared := t.TempDir()
	for dir := shared; dir != "/" && dir != os.TempDir(); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"work", "started"} { // every attempt has a user of its own
		write(t, filepath.Join(shared, name))
		if err := os.Chmod(filepath.Join(shared, name), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	p := newProgram(t, script(shared))
	if err := os.Symlink(shared, p.path("shared")); err != nil {
		t.Fatal(err)
	}
	return p
}

func write(t testing.TB, path string) {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o666); err != nil {
		t.Fatal(err)
	}
}

func (p *program) worked() int {
	return strings.Count(p.read("shared/work"), "worked")
}

func (p *program) read(name string) string {
	p.t.Helper()
	raw, err := os.ReadFile(p.path(name))
	if err != nil {
		p.t.Fatal(err)
	}
	return string(raw)
}

// invariants checks the records, once what is under way has come to rest.
func (p *program) invariants() {
	p.t.Helper()
	server, err := embedded.Attach(p.t.Context(), filepath.Join(p.path("data"), "postgres"))
	if err != nil {
		p.t.Fatal(err)
	}
	db, err := store.Open(p.t.Context(), store.Config{URL: server.URL("postgres", "postgres")})
	if err != nil {
		p.t.Fatal(err)
	}
	defer db.Close()
	var broken []string
	p.until("the invariants to hold", 60*time.Second, func() bool {
		broken, err = db.Invariants(p.t.Context())
		return err == nil && len(broken) == 0
	})
}

// TestRestart shuts the server down in the middle of an attempt: it says what goes on, and the next start takes it over.
func TestRestart(t *testing.T) {
	t.Parallel()
	p := newProgramIn(t)
	write(t, p.path("shared/hold"))
	accepted := p.accepted()
	must(p.client.StartRun(t.Context(), accepted.ID, wire.TaskRunCreate{Attempt: 1}))(t)
	p.until("the agent", 60*time.Second, func() bool { return p.read("shared/started") != "" })
	p.stop()
	if said := p.out.String(); !strings.Contains(said, "1 sandbox") {
		t.Errorf("nothing was said about the sandbox that goes on:\n%s", said)
	}
	if err := os.Remove(p.path("shared/hold")); err != nil {
		t.Fatal(err)
	}
	p.start()
	if got := p.settled(accepted.ID); got.Status != task.StatusInReview || p.worked() != 1 {
		t.Errorf("status %s, worked %d times", got.Status, p.worked())
	}
	p.invariants()
}

// TestSecondServer: one data folder has one server, and the second one says so.
func TestSecondServer(t *testing.T) {
	t.Parallel()
	p := newProgram(t, `{turns: [{steps: [{answer: done}]}]}`)
	for args, want := range map[string]string{
		"-addr 127.0.0.1:0 -data " + p.path("data"):                                         "is used by another process",
		"-addr " + p.addr + " -data " + p.path("other"):                                     "choose another address with -addr or COMPANY_ADDR",
		"-addr nonsense -data " + p.path("other"):                                           "is no address with a port",
		"-addr 127.0.0.1:0 -data /proc/none":                                                "choose another one with -data or COMPANY_DATA",
		"-addr 127.0.0.1:0 -executors " + p.path("gone.yaml") + " -data " + p.path("other"): "does not exist; write it",
		"-addr 127.0.0.1:0 -git-hosts ftp://example.com -data " + p.path("other"):           "ftp://example.com",
	} {
		out, err := exec.CommandContext(t.Context(), p.bin, strings.Fields(args)...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v, does not say %q:\n%s", args, err, want, out)
		}
	}
}
