package local_test

import (
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

// pause is how long an agent works where the server has to come back meanwhile.
const pause = 8 * time.Second

// script is an agent that works for a while.
func script(work time.Duration) string {
	return `{turns: [{steps: [{sleep: "` + work.String() + `"}, {answer: done}]}]}`
}

// TestKill kills the server at each point of an attempt's life. After a restart the attempt has ended as the contract's
// recovery says, its work was done once, and every record is as it must be.
func TestKill(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		hold bool // the agent works until the server is back
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
		"in the middle": {true, false, func(p *program, run string) {
			p.until("the agent", 60*time.Second, func() bool { return p.began(run) == 1 })
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
			work := time.Millisecond
			if c.hold {
				work = pause
			}
			p := newProgram(t, script(work))
			accepted := p.accepted()
			started := must(p.client.StartRun(t.Context(), accepted.ID, wire.TaskRunCreate{Attempt: 1}))(t)
			c.when(p, started.RunID)
			p.kill()
			p.start()
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
			if n := p.began(started.RunID) + p.began(repeat.RunID); n != want {
				t.Errorf("two attempts worked %d times, not %d", n, want)
			}
			p.invariants()
		})
	}
}

// began counts how often an agent began to work on a run.
func (p *program) began(run string) (n int) {
	p.t.Helper()
	events, err := p.client.RunEvents(p.t.Context(), run, 0, 0)
	if err != nil {
		return 0 // the server is away
	}
	for _, e := range events.Data {
		if e.Type == wire.EventStarted {
			n++
		}
	}
	return n
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
	p := newProgram(t, script(pause))
	accepted := p.accepted()
	started := must(p.client.StartRun(t.Context(), accepted.ID, wire.TaskRunCreate{Attempt: 1}))(t)
	p.until("the agent", 60*time.Second, func() bool { return p.began(started.RunID) == 1 })
	p.stop()
	if said := p.out.String(); !strings.Contains(said, "1 sandbox") {
		t.Errorf("nothing was said about the sandbox that goes on:\n%s", said)
	}
	p.start()
	if got := p.settled(accepted.ID); got.Status != task.StatusInReview || p.began(started.RunID) != 1 {
		t.Errorf("status %s, began %d times", got.Status, p.began(started.RunID))
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
