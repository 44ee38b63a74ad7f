package netlock

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// Cmd is a locked command. Its fields and methods are those of [exec.Cmd], but
// for these: ExtraFiles must be empty (the command gets descriptors 0 to 2 and
// no other), of SysProcAttr only sessions, process groups, terminals and
// Pdeathsig may be set, and standard descriptors that are network sockets are
// refused. Without a session of its own (Setsid) a command with a terminal can
// read what is typed there, as with os/exec. Pdeathsig comes when the thread that
// called Start ends, and threads of a lock do: lock one that stays
// ([runtime.LockOSThread]).
//
// When Wait returns the lock is closed: what the command left running can make
// no connection any more (ENOSYS).
type Cmd struct {
	*exec.Cmd
	// Events, when set before Start, gets the lock's decisions, folded and
	// limited, one at a time. It is not called after Wait returned.
	Events func(Event)

	policy Policy
	held   *lock
}

// Command prepares a command that can reach what the policy says and nothing
// else. Like exec.Command it reports a program that is not found, and also a
// policy that is refused, from Start: a [*PolicyError], [ErrUnsupported],
// [ErrBusy], or what os/exec returns.
//
// When ctx is done the command gets SIGKILL, whatever its user id.
func Command(ctx context.Context, policy Policy, argv ...string) *Cmd {
	if len(argv) == 0 {
		argv = []string{""}
	}
	c := &Cmd{Cmd: exec.CommandContext(ctx, argv[0], argv[1:]...), policy: policy}
	c.Cancel = func() error { return c.Signal(os.Kill) }
	return c
}

// Start starts the command. When it returns nil the command runs, under the lock.
func (c *Cmd) Start() error {
	switch {
	case c.Process != nil:
		return errors.New("netlock: already started")
	case c.Err != nil:
		return c.Err
	case len(os.Args) > 0 && os.Args[0] == shimName:
		return ErrNotReexecuted
	case len(c.ExtraFiles) > 0:
		return &PolicyError{"a command gets descriptors 0 to 2 and no other", "ExtraFiles"}
	}
	if err := c.policy.Validate(); err != nil {
		return err
	}
	if err := validateAttr(c.SysProcAttr); err != nil {
		return err
	}
	return c.start()
}

// Wait waits for the command and closes the lock.
func (c *Cmd) Wait() error {
	err := c.Cmd.Wait()
	if c.held != nil {
		c.held.close()
	}
	return err
}

// Run starts the command and waits for it.
func (c *Cmd) Run() error {
	if err := c.Start(); err != nil {
		return err
	}
	return c.Wait()
}

// Output runs the command and returns what it wrote to standard output.
func (c *Cmd) Output() ([]byte, error) {
	if c.Stdout != nil {
		return nil, errors.New("netlock: Stdout already set")
	}
	var out bytes.Buffer
	c.Stdout = &out
	err := c.Run()
	return out.Bytes(), err
}

// CombinedOutput runs the command and returns what it wrote to both outputs.
func (c *Cmd) CombinedOutput() ([]byte, error) {
	if c.Stdout != nil || c.Stderr != nil {
		return nil, errors.New("netlock: Stdout or Stderr already set")
	}
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	err := c.Run()
	return out.Bytes(), err
}

// Signal sends a signal to the command, whose user the supervisor may not
// otherwise be allowed to signal (CAP_KILL).
func (c *Cmd) Signal(sig os.Signal) error {
	if c.Process == nil {
		return errors.New("netlock: not started")
	}
	return c.asChild(func() error { return c.Process.Signal(sig) })
}

// SignalGroup sends a signal to the command's process group, when it leads one
// (SysProcAttr.Setpgid or Setsid). Call it before Wait returned.
func (c *Cmd) SignalGroup(sig syscall.Signal) error {
	switch {
	case c.Process == nil:
		return errors.New("netlock: not started")
	case !leadsGroup(c.SysProcAttr):
		return errors.New("netlock: the command leads no process group")
	}
	return c.asChild(func() error { return syscall.Kill(-c.Process.Pid, sig) })
}
