package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"companyos/shared/agent/proctree"
	"companyos/shared/task"
	"companyos/shared/wire"
)

// turn is the agent at work: one harness process and everything that it starts.
type turn struct {
	self     []string
	cell     *cell
	children *children
	env      []string
	dir      string
	run      time.Duration // limits; zero is none
	idle     time.Duration
	parser   Parser
	emit     func(...wire.Event)
	log      *runLog
	grace    func(cause error) time.Duration // between SIGINT and the end, by why it ends
	save     func(ctx context.Context)       // runs beside the agent
	ending   func()                          // called when the agent is told to end: the model is cut first

	lastOutput atomic.Int64
}

// killFor is how long the supervisor tries to end the agent's processes. Those that it cannot end are said.
const killFor = 10 * time.Second

// play runs the harness to its end, or ends it when ctx does or a limit fires. When it returns, no process of the
// agent's is alive. Errors: *EndError of kind harness_missing or internal.
func (t *turn) play(ctx context.Context, c Command) (Outcome, error) {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	if t.run > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, t.run, &EndError{Kind: task.EndRunTimeout, Limit: LimitRun, Text: fmt.Sprintf("The agent did not end within the run limit of %s.", t.run)})
		defer cancel()
	}
	stdout, stderr, cmd, err := t.start(ctx, c)
	if err != nil {
		return Outcome{}, err
	}
	t.lastOutput.Store(time.Now().UnixNano())
	var readers sync.WaitGroup
	readers.Go(func() { t.readEvents(stdout) })
	readers.Go(func() { t.readLog(stderr) })

	exited := make(chan struct{})
	go func() {
		_ = cmd.Wait() // the exit code is in the state
		close(exited)
	}()
	saving, stopSaving := context.WithCancel(ctx)
	var saver sync.WaitGroup
	saver.Go(func() { t.save(saving) })
	t.watch(ctx, end, exited, cmd)
	cause := context.Cause(ctx)
	stopSaving()
	saver.Wait()
	killErr := t.killAll(context.WithoutCancel(ctx))
	<-exited
	drain(&readers, stdout, stderr)
	outcome := t.parser.End(cmd.ProcessState.ExitCode())
	if f, ok := errors.AsType[*EndError](cause); ok {
		outcome = outcome.failed(f)
	}
	if killErr != nil {
		outcome = outcome.failed(failuref(task.EndInternal, killErr, "Processes of the agent could not be ended."))
	}
	return outcome, nil
}

// start starts the harness in a session of its own. What it inherits is its standard streams and nothing else.
func (t *turn) start(ctx context.Context, c Command) (stdout, stderr *os.File, cmd *program, err error) {
	// Its end is SIGINT and a grace, which watch gives it.
	args := c.Args
	if t.cell.policy == nil { // the lock would see to it
		args = append(append(append([]string{}, t.self...), SubcommandEnter), c.Args...)
	}
	cmd = t.cell.command(context.WithoutCancel(ctx), args)
	cmd.Dir, cmd.Env, cmd.Stdin = t.dir, append(append([]string{}, t.env...), c.Env...), bytes.NewReader(c.Stdin)
	cmd.SysProcAttr.Setpgid, cmd.SysProcAttr.Setsid = false, true
	cmd.WaitDelay = time.Second // the standard input's copy ends with the process
	stdout, out, err := os.Pipe()
	if err != nil {
		return nil, nil, nil, err
	}
	stderr, errs, err := os.Pipe()
	if err != nil {
		return nil, nil, nil, errors.Join(err, stdout.Close(), out.Close())
	}
	cmd.Stdout, cmd.Stderr = out, errs
	err = cmd.Start()
	_, _ = out.Close(), errs.Close()
	if err != nil {
		_, _ = stdout.Close(), stderr.Close()
		return nil, nil, nil, failuref(task.EndHarnessMissing, err, "The harness could not be started: %v", err)
	}
	return stdout, stderr, cmd, nil
}

// watch returns when the harness has exited, or when it was told to end and its grace is over.
func (t *turn) watch(ctx context.Context, end context.CancelCauseFunc, exited <-chan struct{}, harness *program) {
	ticker := time.NewTicker(t.tick())
	defer ticker.Stop()
	for {
		select {
		case <-exited:
			return
		case <-ticker.C:
			t.children.reap()
			if silent := time.Since(time.Unix(0, t.lastOutput.Load())); t.idle > 0 && silent > t.idle {
				end(&EndError{Kind: task.EndIdleTimeout, Limit: LimitIdle, Text: fmt.Sprintf("The agent printed nothing for the idle limit of %s.", t.idle)})
			}
		case <-ctx.Done():
			grace := time.NewTimer(t.grace(context.Cause(ctx)))
			defer grace.Stop()
			t.ending()
			harness.interrupt()
			select {
			case <-exited:
			case <-grace.C:
			}
			return
		}
	}
}

// tick is how often the idle limit is looked at.
func (t *turn) tick() time.Duration {
	if t.idle > 0 {
		return min(max(t.idle/10, 10*time.Millisecond), time.Second)
	}
	return time.Second
}

// killAll ends every process of the agent's, whatever session it is in. Under a user of its own that is every process of
// this user; else, and beside it, everything below the supervisor, which is the parent of every orphan here.
func (t *turn) killAll(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, killFor)
	defer cancel()
	match := proctree.Descendants(os.Getpid())
	if user := t.cell.user; user != nil {
		killUser(ctx, *user)
		match = proctree.Any(proctree.OfUID(user.UID), match)
	}
	err := proctree.Kill(ctx, match)
	t.children.reap()
	return err
}

// killUser sends SIGKILL to all processes of a user at one stroke, from inside that user: then no race of forks outruns
// it. What it misses, the caller finds one by one.
func killUser(ctx context.Context, user User) {
	_, _ = child{args: []string{"/bin/sh", "-c", "kill -KILL -1"}, dir: "/", env: []string{"PATH=/usr/bin:/bin"}, user: &user}.run(ctx)
}

// readEvents reads the harness's stream.
func (t *turn) readEvents(from io.Reader) {
	_ = eachLine(from, func(line []byte) { // a pipe ends with its writers
		t.lastOutput.Store(time.Now().UnixNano())
		events, known := t.parser.Line(line)
		t.emit(events...)
		if !known {
			_, _ = t.log.Write(append(line, '\n'))
		}
	})
}

// readLog takes what the harness complains about.
func (t *turn) readLog(from io.Reader) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			t.lastOutput.Store(time.Now().UnixNano())
			_, _ = t.log.Write(buf[:n])
		}
		if err != nil {
			return
		}
	}
}

// drain waits for the readers, which end with the last process that holds the other end of their pipes: all are dead.
func drain(readers *sync.WaitGroup, pipes ...*os.File) {
	done := make(chan struct{})
	go func() {
		readers.Wait()
		close(done)
	}()
	timer := time.NewTimer(5 * time.Second)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C: // something outside this sandbox was handed a pipe
	}
	for _, pipe := range pipes {
		_ = pipe.Close()
	}
	<-done
}
