//go:build linux && (amd64 || arm64)

package netlock

import (
	"os"
	"os/signal"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// catchSignals catches signals from now on, so that one that comes while the
// command starts cannot end us and leave the command alone. attend then looks
// after the processes of RunCLI until release is called: signals that end a
// program go to the command (a terminal sends its own), and dead children that
// the command left to us are taken away.
func catchSignals() (attend func(*Cmd) (release func())) {
	ends, children := make(chan os.Signal, 16), make(chan os.Signal, 1) // apart: many children crowd out no signal
	signal.Notify(ends, unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGQUIT)
	signal.Notify(children, unix.SIGCHLD)
	return func(c *Cmd) func() {
		quit, done := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(done)
			for {
				select {
				case s := <-ends:
					_ = c.Signal(s) // the command may just have ended
				case <-children:
					reapOrphans(c.Process.Pid)
				case <-quit:
					return
				}
			}
		}()
		return func() {
			signal.Stop(ends)
			signal.Stop(children)
			close(quit)
			<-done
		}
	}
}

// adoptOrphans makes what the command leaves behind children of this process:
// under Yama's ptrace_scope 1 only descendants can be served.
func adoptOrphans() {
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) // without it they have no network
}

// reapOrphans takes away dead children but the command, which os/exec waits for.
func reapOrphans(command int) {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return
	}
	for _, t := range tasks {
		b, err := os.ReadFile("/proc/self/task/" + t.Name() + "/children")
		if err != nil {
			continue // the thread is gone, or the kernel keeps no such list
		}
		for _, f := range strings.Fields(string(b)) {
			if pid, err := strconv.Atoi(f); err == nil && pid != command {
				_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil)
			}
		}
	}
}
