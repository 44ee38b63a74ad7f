// Package agent is the inside of a sandbox: the supervisor that claims a launch, makes the checkout, runs the agent, and
// brings its work out.
//
// The supervisor is the trusted part. It holds the launch's tokens and the executor's secrets in memory alone. Everything
// that touches the agent's files runs as the agent's user.
package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/google/uuid"

	"companyos/shared/agent/broker"
	"companyos/shared/agent/redact"
	"companyos/shared/gitcmd"
	"companyos/shared/task"
	"companyos/shared/wire"
)

// Config is what a supervisor is given. Token, API and Dir are required; zero is a working value for the rest.
type Config struct {
	API   string // base URL of the sandbox's API
	Token string // the launch token
	Dir   string // for the files of this launch; it is empty or does not exist
	Agent *User  // the agent's user; nil: the supervisor's own
	Self  []string
	Mark  string // "<run>-<launch>", in the environment of every process of this launch

	Instance    string        // made here when empty
	MaxCheckout int64         // bytes fetched, and bytes of files; 4 GiB
	MaxLog      int64         // bytes; 8 MiB
	StopGrace   time.Duration // from SIGTERM to the last report; 25 s, below what launchers wait before SIGKILL
	Patience    time.Duration // with a git host that does not answer; 60 s
	SaveEvery   time.Duration // between two saved patches; 30 s
	HTTP        *http.Client
	Now         func() time.Time
	Log         *slog.Logger
}

func (c *Config) defaults() {
	set(&c.Instance, uuid.NewString())
	set(&c.MaxCheckout, 4<<30)
	set(&c.MaxLog, 8<<20)
	set(&c.StopGrace, 25*time.Second)
	set(&c.Patience, time.Minute)
	if c.Self == nil {
		c.Self = []string{ownBinary()}
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
}

func set[T comparable](value *T, fallback T) {
	var zero T
	if *value == zero {
		*value = fallback
	}
}

// supervisor is one launch in progress.
type supervisor struct {
	Config
	client   *wire.SandboxClient
	work     wire.Work
	secrets  map[string]string
	redact   *redact.Redactor
	git      git
	layout   layout
	log      *runLog
	events   *reporter
	end      func(cause error) // ends the work
	children *children
	refusals refusals

	harness Harness
	cli     cli
	broker  *broker.Broker
	lock    string // what holds the agent's network, for people
	cell    *cell  // once the agent may be started

	commit    string    // once the workspace stands
	earlier   *restored // the conversation that was put back
	saved     *wire.ResultArtifact
	artifacts []artifact
}

// The ends that are not the run's own failure.
var (
	errCancelled   = &EndError{Kind: task.EndCancelled, Text: "Run cancelled"}
	errInterrupted = &EndError{Kind: task.EndInterrupted, Text: "The sandbox was told to stop."}
	errDeadline    = &EndError{Kind: task.EndRunTimeout, Limit: LimitRun, Text: "The launch's deadline came."}
	errRefused     = errors.New("the API settled the run")
)

// Run does one launch from its claim to its report, and ends when ctx does: then with what was done so far. It owns its
// process: everything below it is ended with the agent.
func Run(ctx context.Context, c Config) Exit {
	c.defaults()
	s := &supervisor{Config: c, client: wire.NewSandboxClient(c.API, c.HTTP), children: &children{pids: map[int]bool{}}}
	claimed, failed := claim(ctx, s.client, c.Token, c.Instance)
	if failed != nil {
		return *failed
	}
	s.work, s.secrets = claimed.Work, claimed.Secrets
	values := []string{c.Token, claimed.Session}
	for name, value := range claimed.Secrets {
		if !strings.HasSuffix(name, baseURLSuffix) { // an address
			values = append(values, value)
		}
	}
	s.redact = redact.New(values...)
	s.Log = s.Log.With("run_id", s.work.RunID, "task_id", s.work.TaskID, "launch", s.work.Launch)
	s.Log.Info("claimed", "attempt", s.work.Attempt, "harness", s.work.Harness)
	return s.launch(ctx)
}

// launch runs the phases and reports their end. Reports outlive the work: they are repeated until the launch's deadline,
// or until the stop grace is over when ctx ended.
func (s *supervisor) launch(ctx context.Context) Exit {
	deadline := time.Unix(s.work.Deadline, 0)
	reports, endReports := context.WithDeadline(context.WithoutCancel(ctx), deadline)
	defer endReports()
	work, end := context.WithCancelCause(context.WithoutCancel(ctx))
	defer end(nil)
	work, endWork := context.WithDeadlineCause(work, deadline, errDeadline)
	defer endWork()
	stopped := context.AfterFunc(ctx, func() {
		end(errInterrupted)
		time.AfterFunc(s.StopGrace, endReports)
	})
	defer stopped()

	s.events = newReporter(s.client, s.redact, s.Now, s.Log)
	s.events.cancelled = func() { end(errCancelled) }
	s.events.fenced = func(err error) { end(err) }
	s.end, s.refusals.emit = end, s.events.add
	sending, stopSending := context.WithCancel(reports)
	defer stopSending()

	s.events.add(s.preparing())
	go s.events.run(sending)
	outcome, err := s.phases(work)
	if exit := settled(err, work); exit != nil {
		return *exit
	}
	if err != nil {
		outcome = Outcome{Kind: failureOf(err).Kind, Answer: failureOf(err).Text}
		s.Log.Warn("the run fails", "kind", outcome.Kind, "error", s.redact.String(err.Error()))
	}
	return s.finish(reports, outcome)
}

// settled says that there is nothing more to report: the run is another's, or the API ended it.
func settled(err error, work context.Context) *Exit {
	for _, err := range []error{err, context.Cause(work)} {
		switch {
		case errors.Is(err, errRefused):
			return &Exit{Reason: ReasonRefused, Kind: task.EndPinMismatch, Err: err}
		case errors.Is(err, wire.ErrFenced), errors.Is(err, wire.ErrTokenRefused):
			return &Exit{Reason: ReasonFenced, Err: err}
		}
	}
	return nil
}

// ownBinary names this program in a way that still works where its folder cannot be read.
func ownBinary() string {
	if runtime.GOOS == "linux" {
		return "/proc/self/exe"
	}
	path, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return path
}

// probePathMost leaves room for a socket's name in the 108 bytes of its address.
const probePathMost = 48

// prepareDirs makes the launch's directories and log, and finds git.
func (s *supervisor) prepareDirs() (err error) {
	if s.layout, err = newLayout(s.Dir, s.Agent); err != nil {
		return fmt.Errorf("making the sandbox's directories: %w", err)
	}
	if err := s.keepReserve(); err != nil {
		return fmt.Errorf("keeping a part of the disk: %w", err)
	}
	if s.log, err = newRunLog(filepath.Join(s.layout.private, "log"), s.MaxLog, s.redact); err != nil {
		return err
	}
	// The lock's self-test makes sockets, whose paths are short. The root of a container, with its /tmp, is read-only.
	if len(s.layout.probe) <= probePathMost {
		if err := os.Setenv("TMPDIR", s.layout.probe); err != nil {
			return err
		}
	}
	path, err := exec.LookPath("git")
	if err != nil {
		return failuref(task.EndInternal, err, "The sandbox has no git.")
	}
	s.git = git{path: path, home: s.layout.empty, user: s.Agent, own: s.children, pass: gitcmd.Passed()}
	return nil
}

// phases is the work: checkout, the API's word, what the earlier attempt left, the agent. The lock is tested while the
// checkout is made.
func (s *supervisor) phases(ctx context.Context) (Outcome, error) {
	if err := s.prepareDirs(); err != nil {
		return Outcome{}, err
	}
	if s.work.Repository == nil {
		return Outcome{}, failuref(task.EndInternal, nil, "The work names no repository.")
	}
	if err := s.equip(ctx); err != nil {
		return Outcome{}, err
	}
	defer s.broker.Shut()
	limit := s.work.Limits.Prepare.Duration()
	preparing, done := withLimit(ctx, limit, &EndError{
		Kind: task.EndCheckoutTimeout, Limit: LimitPrepare, Text: fmt.Sprintf("The checkout did not end within the prepare limit of %s.", limit),
	})
	defer done()
	testing := s.testLock(preparing)
	begun := s.Now()
	warnings, err := s.checkout(preparing)
	if err != nil {
		return Outcome{}, err
	}
	s.Log.Info("checked out", "commit", s.commit, "took", s.Now().Sub(begun))
	if err := s.prepared(ctx, warnings); err != nil {
		return Outcome{}, err
	}
	input, err := s.restore(ctx)
	if err != nil {
		return Outcome{}, err
	}
	begun = s.Now()
	lock := <-testing
	s.Log.Info("the lock is tested", "waited", s.Now().Sub(begun))
	if s.cell, err = s.enclose(lock); err != nil {
		return Outcome{}, brokenOff(preparing, err)
	}
	s.git.cell = s.cell
	if err := s.layout.hand(s.Agent); err != nil {
		return Outcome{}, err
	}
	return s.agent(ctx, input)
}

// checkout makes the workspace, with the one credential that is meant for it.
func (s *supervisor) checkout(ctx context.Context) ([]warning, error) {
	repository := s.work.Repository
	c := checkout{
		git: s.git, url: repository.URL, branch: repository.Branch, token: s.secrets[readToken],
		base: s.layout.base, workspace: s.layout.workspace, maxBytes: s.MaxCheckout, patience: s.Patience,
	}
	if repository.Commit != nil {
		c.commit = *repository.Commit
	}
	started := time.Now()
	commit, warnings, err := c.run(ctx)
	if err != nil {
		s.log.note("checkout of %s: %v", repository.URL, err)
		return nil, err
	}
	s.commit = commit
	s.log.note("checkout of %s %s at %s", repository.URL, repository.Branch, commit)
	s.Log.Info("prepared", "commit", commit, "took_ms", time.Since(started).Milliseconds())
	return warnings, nil
}

// readToken is the one secret that a checkout uses.
const readToken = "GITHUB_READ_TOKEN" //nolint:gosec // its name

// prepared tells the API what was checked out and hears whether to go on.
func (s *supervisor) prepared(ctx context.Context, warnings []warning) error {
	request := wire.PreparedRequest{URL: s.work.Repository.URL, Branch: s.work.Repository.Branch, Commit: s.commit, Warnings: []string{}}
	for _, w := range warnings {
		request.Warnings = append(request.Warnings, w.text)
		s.warn(w)
	}
	answer, err := s.client.Prepared(ctx, request)
	switch {
	case errors.Is(err, wire.ErrPinMismatch):
		return fmt.Errorf("%w: %w", errRefused, err)
	case errors.Is(err, wire.ErrCancelled):
		return errCancelled
	case err != nil && ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return err
	case !answer.Go:
		return errRefused
	}
	return nil
}

func (s *supervisor) warn(w warning) {
	s.log.note("warning: %s", w.text)
	s.events.addLast(wire.Event{Type: wire.EventWarning, Text: w.text, Paths: w.paths})
}

func (s *supervisor) preparing() wire.Event {
	e := wire.Event{Type: wire.EventPreparing}
	if s.work.Repository != nil {
		e.URL, e.Branch = s.work.Repository.URL, s.work.Repository.Branch
	}
	return e
}

// limitGrace is how long an agent that overstepped a limit has to end by itself.
const limitGrace = 5 * time.Second

// grace is how long the agent has between SIGINT and SIGKILL. The rest of a cancel's and of a stop's grace belongs to the
// patch and the report.
func (s *supervisor) grace(cause error) time.Duration {
	third := func(whole time.Duration) time.Duration { return min(whole/3, 10*time.Second) }
	switch {
	case errors.Is(cause, errCancelled):
		return third(s.work.Limits.CancelGrace.Duration())
	case errors.Is(cause, errInterrupted):
		return third(s.StopGrace)
	case errors.Is(cause, wire.ErrFenced), errors.Is(cause, wire.ErrTokenRefused):
		return 0
	default:
		return limitGrace
	}
}

func withLimit(ctx context.Context, limit time.Duration, cause *EndError) (context.Context, context.CancelFunc) {
	if limit <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, limit, cause)
}
