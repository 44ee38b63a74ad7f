//go:build linux && (amd64 || arm64)

package netlock

import (
	"os"
	"os/signal"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// attend looks after the processes of RunCLI until release is called: signals
// that end a program go to the command (a terminal sends its own), and dead
// children that the command left to us are taken away.
func attend(c *Cmd) (release func()) {
	ch := make(chan os.Signal, 16)
	signal.Notify(ch, unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGQUIT, unix.SIGCHLD)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for s := range ch {
			if s == unix.SIGCHLD {
				reapOrphans(c.Process.Pid)
				continue
			}
			_ = c.Signal(s) // the command may just have ended
		}
	}()
	return func() { signal.Stop(ch); close(ch); <-done }
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
