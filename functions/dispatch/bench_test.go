package main

import (
	"syscall"
	"testing"
	"time"

	"companyos/shared/app/apptest"
	"companyos/shared/sandbox/fargate/ecstest"
	"companyos/shared/task"
)

// BenchmarkDispatch is one message that admits a run, takes its slot and starts its sandbox, beside one whose run has
// nothing due: what the function takes with a database and an ECS of the same machine. cpu-ms/op is what it works itself,
// the fake ECS included; the rest it waits for the database.
func BenchmarkDispatch(b *testing.B) {
	b.Run("launch", func(b *testing.B) {
		w := open(b, 1_000_000, ecstest.Options{})
		var own time.Duration
		for b.Loop() {
			b.StopTimer()
			w.reserve()
			w.Attempts.Clear()
			before := cpu(b)
			b.StartTimer()
			if failed := w.handle(b.Context(), wake(w.run)); len(failed) != 0 {
				b.Fatal(failed)
			}
			own += cpu(b) - before
		}
		b.ReportMetric(own.Seconds()*1000/float64(b.N), "cpu-ms/op")
		if n := len(w.ecs.Tasks()); n != b.N {
			b.Fatalf("%d sandboxes of %d messages", n, b.N)
		}
	})
	b.Run("idle", func(b *testing.B) {
		w := open(b, 1, ecstest.Options{RunAtOnce: true})
		w.task = w.NewTask(task.ExecutorAgent, apptest.Engineer)
		w.run = w.Start(w.task.ID, 1)
		w.handle(b.Context(), wake(w.run))
		for b.Loop() {
			if failed := w.handle(b.Context(), wake(w.run)); len(failed) != 0 {
				b.Fatal(failed)
			}
		}
	})
}

// cpu is the processor time of this process.
func cpu(tb testing.TB) time.Duration {
	tb.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
