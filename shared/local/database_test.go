package local_test

import (
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"companyos/shared/store/embedded"
	"companyos/shared/task"
	"companyos/shared/wire"
)

// A PostgreSQL that ends by itself, in the middle of an attempt, comes back without anybody's help.
func TestTheDatabaseIsKilled(t *testing.T) {
	t.Parallel()
	for name, signal := range map[string]syscall.Signal{"killed": syscall.SIGKILL, "shut down": syscall.SIGQUIT} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProgram(t, script(time.Second))
			accepted := p.accepted()
			started := must(p.client.StartRun(t.Context(), accepted.ID, wire.TaskRunCreate{Attempt: 1}))(t)
			server, err := embedded.Attach(t.Context(), filepath.Join(p.path("data"), "postgres"))
			if err != nil {
				t.Fatal(err)
			}
			if err := syscall.Kill(server.Pid, signal); err != nil {
				t.Fatal(err)
			}
			p.until("the database", 60*time.Second, func() bool {
				again, err := embedded.Attach(t.Context(), filepath.Join(p.path("data"), "postgres"))
				return err == nil && again.Pid != server.Pid
			})
			p.until("the Task's end", 60*time.Second, func() bool {
				got, err := p.client.Task(t.Context(), accepted.ID)
				return err == nil && got.Status == task.StatusInReview
			})
			if n := p.began(started.RunID); n != 1 {
				t.Errorf("the agent began %d times", n)
			}
			p.invariants()
		})
	}
}
