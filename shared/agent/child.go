package agent

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os/exec"
	"syscall"
	"time"
)

// User is whom the agent, and every tool that looks at its files, runs as.
type User struct {
	UID, GID int
}

// child is one short-lived program of the supervisor's: git, or cat. It has an explicit environment, a process group of
// its own, and ends with ctx or with the supervisor.
type child struct {
	args   []string
	dir    string
	env    []string
	user   *User // nil: the supervisor's own
	cell   *cell // once there was an agent: whatever looks at its files runs as it does, under the lock
	own    *children
	stdin  io.Reader
	stdout io.Writer // nil: what it prints is in the answer of run
}

// childError is a child that failed.
type childError struct {
	name   string
	exit   int // -1: killed or never started
	stderr string
	err    error
}

func (e *childError) Error() string {
	text := e.name + ": " + e.err.Error()
	if e.stderr != "" {
		text += ": " + e.stderr
	}
	return text
}

func (e *childError) Unwrap() error { return e.err }

// killed says that something other than the supervisor killed it.
func (e *childError) killed() bool {
	exit, ok := errors.AsType[*exec.ExitError](e.err)
	if !ok {
		return false
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

// stderrLimit bounds what is kept of a child's complaints: the end, where git says what was fatal.
const stderrLimit = 8 << 10

// run runs the child and returns its output, where stdout is nil. Errors: *childError, the cause of ctx's end in it.
func (c child) run(ctx context.Context) ([]byte, error) {
	in := c.cell
	if in == nil {
		in = &cell{user: c.user, own: c.own}
	}
	cmd := in.command(ctx, c.args)
	cmd.Dir, cmd.Env, cmd.Stdin = c.dir, c.env, c.stdin
	var out bytes.Buffer
	cmd.Stdout = c.stdout
	if c.stdout == nil {
		cmd.Stdout = &limitedBuffer{to: &out, left: 64 << 20}
	}
	complaints := &tail{limit: stderrLimit}
	cmd.Stderr = complaints
	// git has children of its own (git-remote-https, index-pack), which hold the pipes.
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	if err == nil {
		return out.Bytes(), nil
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	failed := &childError{name: c.args[0], exit: -1, stderr: complaints.String(), err: err}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		failed.exit = exit.ExitCode()
	}
	return nil, failed
}

// tail keeps the end of what is written to it.
type tail struct {
	limit int
	kept  []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p...)
	if extra := len(t.kept) - t.limit; extra > 0 {
		t.kept = append(t.kept[:0], t.kept[extra:]...)
	}
	return len(p), nil
}

func (t *tail) String() string { return string(bytes.TrimSpace(t.kept)) }

// errOutputLimit says that a child printed more than is taken.
var errOutputLimit = errors.New("more output than is taken")

// limitedBuffer fails the child that writes more than it may.
type limitedBuffer struct {
	to   io.Writer
	left int64
}

func (l *limitedBuffer) Write(p []byte) (int, error) {
	if l.left -= int64(len(p)); l.left < 0 {
		return 0, errOutputLimit
	}
	return l.to.Write(p)
}
