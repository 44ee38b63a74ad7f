package agent

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"

	"companyos/shared/agent/broker"
	"companyos/shared/agent/proctree"
	"companyos/shared/netlock"
	"companyos/shared/task"
)

// cell is what the agent, and every tool that looks at its files after it, runs in: the agent's user, and the lock on the
// network. Without a lock only the fixture harness runs.
type cell struct {
	user    *User
	policy  *netlock.Policy // nil: no lock holds here
	refused func(netlock.Event)
	own     *children
}

// program is a command in a cell.
type program struct {
	*exec.Cmd
	locked *netlock.Cmd // nil without a lock
	own    *children
	ended  chan struct{} // closed when it was waited for
}

// command prepares a command. It leads a process group, and ends with the supervisor.
func (c *cell) command(ctx context.Context, args []string) *program {
	p := &program{own: c.own, ended: make(chan struct{})}
	if c.policy == nil {
		p.Cmd = exec.CommandContext(ctx, args[0], args[1:]...)
		p.SysProcAttr = attributes(c.user)
	} else {
		p.locked = netlock.Command(ctx, *c.policy, args...)
		p.locked.Events = c.refused
		p.Cmd = p.locked.Cmd
		p.SysProcAttr = attributes(nil) // the lock gives it the user
	}
	return p
}

// Start starts the command, from a thread that stays until the command has ended: the kernel ends a command with the
// thread that started it (see attributes), and threads do end here, those of every lock.
func (p *program) Start() error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.own.start(p.start)
		started <- err
		if err == nil {
			<-p.ended
		}
	}()
	return <-started
}

func (p *program) start() (pid int, err error) {
	if p.locked != nil {
		err = p.locked.Start()
	} else {
		err = p.Cmd.Start()
	}
	if err != nil {
		return 0, err
	}
	return p.Process.Pid, nil
}

// Wait waits for the command's end.
func (p *program) Wait() error {
	defer close(p.ended)
	defer p.own.ended(p.Process.Pid)
	if p.locked != nil {
		return p.locked.Wait()
	}
	return p.Cmd.Wait()
}

// Run runs the command.
func (p *program) Run() error {
	if err := p.Start(); err != nil {
		return err
	}
	return p.Wait()
}

// interrupt asks the command to end.
func (p *program) interrupt() {
	if p.locked != nil {
		_ = p.locked.Signal(syscall.SIGINT) // it may have ended
		return
	}
	_ = p.Process.Signal(syscall.SIGINT)
}

// children are the processes whose exit somebody waits for; orphans that came to the supervisor are not among them. Nil
// keeps no account.
type children struct {
	mu   sync.Mutex
	pids map[int]bool
}

// start starts a child, which no reaper sees before it is known.
func (c *children) start(start func() (int, error)) error {
	if c == nil { // nothing of an agent's is here yet
		_, err := start()
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	pid, err := start()
	if err == nil {
		c.pids[pid] = true
	}
	return err
}

func (c *children) ended(pid int) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.pids, pid)
}

// reap takes in the exit of processes that the agent left behind, so that they do not pile up.
func (c *children) reap() {
	c.mu.Lock()
	defer c.mu.Unlock()
	all, err := proctree.List()
	if err != nil {
		return
	}
	for _, p := range all {
		if p.PPID == os.Getpid() && p.Zombie && !c.pids[p.PID] {
			_, _ = syscall.Wait4(p.PID, nil, syscall.WNOHANG, nil)
		}
	}
}

// policy is the lock of this launch: the broker, and nothing else. Where the agent has the supervisor's user it may
// touch only what is its own, and read the system.
func (s *supervisor) policy() netlock.Policy {
	p := netlock.Policy{Allow: []netip.AddrPort{s.broker.Addr()}, Listen: true, Netlink: true}
	if s.Agent != nil {
		p.UID, p.GID = s.Agent.UID, s.Agent.GID
		return p
	}
	p.ReadWrite = existing(s.layout.workspace, s.layout.home, s.layout.scratch, "/dev")
	p.ReadOnly = existing("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix", "/proc", "/sys/devices",
		"/sys/fs/cgroup", s.layout.base, s.layout.empty)
	if path, err := os.Executable(); err == nil {
		p.ReadOnly = append(p.ReadOnly, existing(path)...)
	}
	if path := s.cli.path; path != "" {
		p.ReadOnly = append(p.ReadOnly, existing(filepath.Dir(path))...)
	}
	return p
}

// existing leaves out what this system does not have.
func existing(paths ...string) []string {
	var found []string
	for _, path := range paths {
		if _, err := os.Stat(path); err == nil {
			found = append(found, path)
		}
	}
	return found
}

// tested is the outcome of the lock's self-test.
type tested struct {
	report netlock.Report
	err    error
}

// testLock begins the self-test; it runs beside the checkout.
func (s *supervisor) testLock(ctx context.Context) <-chan tested {
	result := make(chan tested, 1)
	policy := s.policy()
	go func() {
		report, err := netlock.SelfTest(ctx, policy)
		result <- tested{report, err}
	}()
	return result
}

// enclose makes the cell out of the self-test's outcome. Errors: *EndError of kind lock_failed, when the harness is one that
// runs under the lock or not at all.
func (s *supervisor) enclose(t tested) (*cell, error) {
	c := &cell{user: s.Agent, own: s.children, refused: s.lockRefused}
	if t.err == nil && t.report.Held() {
		policy := s.policy() // the checkout is there now
		c.policy = &policy
		s.lock = fmt.Sprintf("netlock, %d checks passed", len(t.report.Checks))
		return c, nil
	}
	why := fmt.Sprint(t.err)
	if t.err == nil {
		why = strings.ReplaceAll(t.report.String(), "\n", "; ")
	}
	if s.harness.Profile().API != broker.None {
		return nil, failuref(task.EndLockFailed, t.err, "The lock on the agent's network does not hold here, so no agent was started: %s", why)
	}
	s.lock = "none"
	s.warn(warning{text: "The lock on the agent's network does not hold here; only the fixture harness runs without it: " + why})
	return c, nil
}

// lockRefused tells what the lock refused.
func (s *supervisor) lockRefused(e netlock.Event) {
	if e.Verdict == netlock.VerdictAllow {
		return
	}
	times := max(e.Count, 1)
	e.Count = 1 // repeats are counted over the whole run
	text := e.String()
	if e.Program != "" {
		text += ", by " + e.Program
	}
	s.refusals.add(e.Target, text, times)
}
