// Package process launches supervisors as processes of this host, for development.
//
// A launch is one record, "<data>/launches/<run>-<launch>", made exclusively: it holds the supervisor's process id and
// start before the supervisor gets its token, so a restart finds every supervisor that can do anything. A supervisor
// whose launcher died in between reads the end of its pipe instead of a token, and ends. Supervisors are in sessions of
// their own and outlive the launcher's process.
//
// What holds the agent is the supervisor's lock: its network on every Linux, and its files, by Landlock, where it has the
// same user. Where the lock's self-test fails the supervisor runs the fixture harness only, and says so; elsewhere than on
// Linux nothing else is taken. As root each launch's agent has a user of its own, and ending all processes of that user is
// complete. As an ordinary user the agent has the same one: its processes are found below the supervisor, whose tree no
// session or process group leaves, and, should the supervisor have been killed, by a mark in their environment. Then a
// process that cleared its environment is missed, whose network is closed with the supervisor. Nothing bounds memory and
// CPU here; only a container does.
package process

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/google/uuid"

	"companyos/shared/agent"
	"companyos/shared/agent/proctree"
	"companyos/shared/sandbox"
)

// Config is what a launcher needs. Dir is required.
type Config struct {
	Dir    string        // the data directory; records and logs go to Dir/launches
	Binary []string      // the supervisor's command; default: this program's subcommand "sandbox"
	Files  string        // where launches keep checkouts; default: Dir/launches, as root below the system's temporary directory
	Grace  time.Duration // from SIGTERM to SIGKILL; 30 s, more than a supervisor takes for its last report
	Log    *slog.Logger
	Exited func(runID string) // told when a supervisor that this process started has ended; nil: nobody
}

// Launcher starts supervisors here. Several launchers may share a data directory.
type Launcher struct {
	Config
	launches string
	root     bool

	mu       sync.Mutex
	stopping map[string]bool // handles whose end this launcher awaits
}

var _ sandbox.Sandboxes = (*Launcher)(nil)

// takes says whether this launcher can contain a harness.
func takes(harness string) bool {
	switch harness {
	case "fixture":
		return true
	case "claude", "codex":
		return runtime.GOOS == "linux"
	}
	return false
}

// New makes a launcher and its directories.
func New(c Config) (*Launcher, error) {
	if c.Grace == 0 {
		c.Grace = 30 * time.Second
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if len(c.Binary) == 0 {
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		if runtime.GOOS == "linux" {
			self = "/proc/self/exe" // also when "go run" has removed the file
		}
		c.Binary = []string{self, "sandbox"}
	}
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return nil, err
	}
	c.Dir = dir
	l := &Launcher{Config: c, launches: filepath.Join(dir, "launches"), root: os.Getuid() == 0, stopping: map[string]bool{}}
	if err := os.MkdirAll(l.launches, 0o700); err != nil {
		return nil, err
	}
	return l, l.filesDir()
}

// Start starts the launch's supervisor.
func (l *Launcher) Start(ctx context.Context, spec sandbox.Spec) (string, error) {
	handle, err := handleOf(spec)
	if err != nil {
		return "", err
	}
	file, err := os.OpenFile(l.path(handle), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return handle, nil
	}
	if err != nil {
		return "", err
	}
	defer file.Close()
	// Whoever finds the record empty tells by this lock, which ends with this process, whether it is still to be filled.
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		return "", os.NewSyscallError("flock", err)
	}
	if err := ctx.Err(); err != nil {
		return "", l.failed(file, handle, sandbox.ErrThrottled, err)
	}
	rec := record{Dir: filepath.Join(l.Files, handle+".d"), StartedAt: time.Now().UTC(), Boot: proctree.Boot()}
	if l.root {
		if rec.UID, err = nextUID(); err != nil {
			return "", l.failed(file, handle, sandbox.ErrNoCapacity, err)
		}
	}
	cmd, token, err := l.spawn(spec, rec, handle)
	if err != nil {
		return "", l.failed(file, handle, definite(err), err)
	}
	defer token.Close()
	rec.PID = cmd.Process.Pid
	go l.await(context.WithoutCancel(ctx), cmd, handle)
	seen, err := proctree.Look(rec.PID)
	if err == nil {
		rec.Start = seen.Start
		err = rec.write(file)
	}
	if err != nil {
		// Without its record it gets no token, and ends.
		return "", l.failed(file, handle, sandbox.ErrNoCapacity, err)
	}
	if _, err := token.WriteString(spec.Token); err != nil {
		l.Log.Warn("the supervisor ended before it took its token", "launch", handle, "error", err)
	}
	return handle, nil
}

// handleOf checks a launch and names it.
func handleOf(spec sandbox.Spec) (string, error) {
	id, err := uuid.Parse(spec.RunID)
	if err != nil || id.String() != spec.RunID || spec.Launch < 1 || spec.Token == "" || spec.APIURL == "" {
		return "", fmt.Errorf("%w: a launch needs a run id, a number, a token and an API", sandbox.ErrRefused)
	}
	if !takes(spec.Harness) {
		return "", fmt.Errorf("%w: nothing here can contain the harness %q", sandbox.ErrRefused, spec.Harness)
	}
	return spec.RunID + "-" + strconv.Itoa(spec.Launch), nil
}

// failed notes in the record that nothing of this launch runs. A throttled launch may be started again, so it leaves none.
func (l *Launcher) failed(file *os.File, handle string, kind, err error) error {
	if errors.Is(kind, sandbox.ErrThrottled) {
		return errors.Join(fmt.Errorf("%w: %w", kind, err), os.Remove(l.path(handle)))
	}
	err = fmt.Errorf("%w: %w", kind, err)
	rec := record{Failed: err.Error(), Reason: sandbox.EndKindOf(err)}
	if err := rec.write(file); err != nil {
		l.Log.Error("a failed launch could not be recorded", "launch", handle, "error", err)
	}
	return err
}

// definite sorts the reasons why a process could not be started.
func definite(err error) error {
	if errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.ENOMEM) || errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENOSPC) {
		return sandbox.ErrNoCapacity
	}
	return sandbox.ErrImageUnavailable
}

// spawn starts the supervisor with the reading end of a pipe, and returns the writing end.
func (l *Launcher) spawn(spec sandbox.Spec, rec record, handle string) (*exec.Cmd, *os.File, error) {
	log, err := os.OpenFile(l.path(handle)+".log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, err
	}
	defer log.Close()
	read, write, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	defer read.Close()
	//nolint:noctx // it outlives this process
	cmd := exec.Command(l.Binary[0], l.Binary[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = "/", log, log
	cmd.ExtraFiles = []*os.File{read}
	cmd.Env = l.environment(spec, rec, handle)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, nil, errors.Join(err, write.Close())
	}
	return cmd, write, nil
}

// environment is all that a supervisor inherits: no secret of this process.
func (l *Launcher) environment(spec sandbox.Spec, rec record, handle string) []string {
	self := append([]string{}, l.Binary...)
	if runtime.GOOS == "linux" {
		self[0] = "/proc/self/exe" // the agent's user may not be able to reach the file by its path
	}
	text, _ := json.Marshal(self) // a list of strings
	env := []string{
		agent.EnvAPI + "=" + spec.APIURL, agent.EnvTokenFD + "=3", agent.EnvDir + "=" + rec.Dir,
		agent.EnvSelf + "=" + string(text), agent.EnvLaunch + "=" + handle,
	}
	if rec.UID > 0 {
		id := strconv.Itoa(rec.UID)
		env = append(env, agent.EnvUID+"="+id, agent.EnvGID+"="+id)
	}
	for _, name := range []string{"PATH", "HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "SSL_CERT_FILE", "SSL_CERT_DIR"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// await takes in the supervisor's exit and what it left.
func (l *Launcher) await(ctx context.Context, cmd *exec.Cmd, handle string) {
	_ = cmd.Wait() // how it ended is in its exit file
	if _, err := l.Describe(ctx, handle); err != nil {
		l.Log.Warn("tidying up after a launch", "launch", handle, "error", err)
	}
	if l.Exited != nil {
		l.Exited(handle[:strings.LastIndex(handle, "-")])
	}
}

// Running lists the sandboxes of this data directory that run, for a clean shutdown and for a reset.
func (l *Launcher) Running(ctx context.Context) ([]sandbox.Status, error) {
	entries, err := os.ReadDir(l.launches)
	if err != nil {
		return nil, err
	}
	var running []sandbox.Status
	for _, entry := range entries {
		if !isHandle(entry.Name()) {
			continue
		}
		status, err := l.Describe(ctx, entry.Name())
		if err != nil {
			return nil, err
		}
		if !status.State.Stopped() {
			running = append(running, status)
		}
	}
	return running, nil
}

// List looks at the one sandbox that a launch can have here.
func (l *Launcher) List(ctx context.Context, runID string, launch int) ([]sandbox.Status, error) {
	status, err := l.Describe(ctx, runID+"-"+strconv.Itoa(launch))
	if err != nil || status.State == sandbox.StateMissing {
		return nil, err
	}
	return []sandbox.Status{status}, nil
}

func (l *Launcher) path(handle string) string { return filepath.Join(l.launches, handle) }
