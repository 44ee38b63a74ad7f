package main

import (
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"companyos/shared/app/apptest"
	"companyos/shared/sandbox/fargate/ecstest"
	"companyos/shared/task"
)

// hear delivers every state change of ECS that was not delivered yet, as the rule of EventBridge sends it.
func (w *office) hear() {
	w.T.Helper()
	for _, e := range w.ecs.Events() {
		if failed := w.handle(w.T.Context(), e.Message()); len(failed) != 0 {
			w.T.Fatalf("an event failed: %s\n%s", e.Body, w.log)
		}
	}
}

func TestASandboxThatNeverStarts(t *testing.T) {
	t.Parallel()
	for reason, kind := range map[string]task.EndKind{
		"CannotPullContainerError: image not found in 111122223333":                 task.EndImageUnavailable,
		"ResourceInitializationError: unable to pull secrets or registry auth":      task.EndNeverStarted,
		"CannotStartContainerError: failed to create shim task\nOCI runtime create": task.EndNeverStarted,
	} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			w := open(t, 2, ecstest.Options{})
			w.reserve()
			w.deliver()
			w.ecs.Exit(w.only().ARN, ecstest.Stop{Code: "TaskFailedToStart", Reason: reason})
			w.hear()
			run := w.ended(kind)
			word, _, _ := strings.Cut(reason, ":")
			if !strings.Contains(run.Ended.Message, word) || strings.Contains(run.Ended.Message, "111122223333") {
				t.Errorf("it says %q", run.Ended.Message)
			}
			w.pass(time.Hour)
			w.only()
		})
	}
}

// claimed is an office whose run is being worked on.
func claimed(t *testing.T, o ecstest.Options) (*office, *apptest.Supervisor) {
	t.Helper()
	w := open(t, 2, o)
	w.reserve()
	w.deliver()
	s := w.supervise(w.only())
	w.must(s.Claim(t.Context()))
	w.must(s.Prepare(t.Context()))
	return w, s
}

func TestASandboxThatStopsWithoutAReport(t *testing.T) {
	t.Parallel()
	code := func(n int) *int { return &n }
	for name, tt := range map[string]struct {
		stop ecstest.Stop
		kind task.EndKind
	}{
		"out of memory":      {ecstest.Stop{Code: "EssentialContainerExited", Reason: "Essential container in task exited", ContainerReason: "OutOfMemoryError: Container killed due to memory usage", ExitCode: code(137)}, task.EndOutOfMemory},
		"killed":             {ecstest.Exited(137), task.EndOutOfMemory},
		"exit 0":             {ecstest.Exited(0), task.EndLost},
		"spot":               {ecstest.Stop{Code: "SpotInterruption", Reason: "Your Spot Task was interrupted.", ExitCode: code(143)}, task.EndInterrupted},
		"disk":               {ecstest.Stop{Code: "EssentialContainerExited", ContainerReason: "no space left on device", ExitCode: code(1)}, task.EndStorageFull},
		"code of the future": {ecstest.Stop{Code: "SomethingNew", Reason: "?"}, task.EndLost},
	} {
		for _, heard := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				w, _ := claimed(t, ecstest.Options{})
				w.ecs.Exit(w.only().ARN, tt.stop)
				if heard {
					w.hear()
				} // else the run's reminder finds it
				w.pass(7 * time.Minute)
				w.ended(tt.kind)
				w.only()
			})
		}
	}
}

// The result was uploaded and its report lost; ECS forgets the task before anybody looks.
func TestAForgottenTaskCountsAsStopped(t *testing.T) {
	t.Parallel()
	w, s := claimed(t, ecstest.Options{})
	w.must(s.Upload(t.Context()))
	w.ecs.Exit(w.only().ARN, ecstest.Exited(1))
	w.Attempts.Clear()
	w.Travel(25 * time.Minute) // below the run limit
	w.ecs.Forget(w.only().ARN)
	w.handle(t.Context(), wake(w.run))
	w.pass(3 * time.Minute)
	if run := w.RunNow(w.run); run.State != task.StateCompleted || run.StoppedAt == nil {
		t.Errorf("run %s, stopped %v", run.State, run.StoppedAt)
	}
	w.check()
}

// Whatever arrives of ECS's state changes, in whatever order, the end is the same.
func TestStateChangesInAnyOrder(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 17))
		w, s := claimed(t, ecstest.Options{})
		w.must(s.Upload(t.Context()))
		w.must(s.Report(t.Context()))
		w.ecs.Exit(w.only().ARN, ecstest.Exited(0))
		var arrive []string
		for _, e := range w.ecs.Events() {
			for range r.IntN(3) { // lost, once or twice
				arrive = append(arrive, e.Message())
			}
		}
		r.Shuffle(len(arrive), func(i, j int) { arrive[i], arrive[j] = arrive[j], arrive[i] })
		if len(arrive) > 0 {
			if failed := w.handle(t.Context(), arrive...); len(failed) != 0 {
				t.Fatalf("seed %d: failed %v", seed, failed)
			}
		}
		w.pass(7 * time.Minute)
		if run := w.RunNow(w.run); run.State != task.StateCompleted || run.StoppedAt == nil || w.TaskNow(w.task.ID).Status != task.StatusInReview {
			t.Errorf("seed %d: run %s, stopped %v", seed, run.State, run.StoppedAt)
		}
		w.check()
	}
}

// The cancel commits after ECS took the order and before its answer is stored.
func TestACancelThatRacesTheStartStopsTheSandbox(t *testing.T) {
	t.Parallel()
	var w *office
	w = open(t, 2, ecstest.Options{Place: func(ecstest.Order) string {
		w.must(w.CancelRun(t.Context(), apptest.Alice(), w.run))
		return ""
	}})
	w.reserve()
	w.deliver()
	if one := w.only(); one.DesiredStatus != "STOPPED" || w.RunNow(w.run).State != task.StateCancelling {
		t.Errorf("sandbox %s, run %s", one.DesiredStatus, w.RunNow(w.run).State)
	}
	w.pass(time.Minute)
	if run := w.RunNow(w.run); run.State != task.StateCancelling {
		t.Errorf("run %s while its sandbox runs", run.State)
	}
	w.ecs.Exit(w.only().ARN, ecstest.Exited(143))
	w.hear()
	if run := w.RunNow(w.run); run.State != task.StateCancelled || run.StoppedAt == nil {
		t.Errorf("run %s, stopped %v", run.State, run.StoppedAt)
	}
	w.check()
}

func TestSandboxesThatNobodyWantsAreStopped(t *testing.T) {
	t.Parallel()
	var ago atomic.Int64
	w, _ := claimed(t, ecstest.Options{RunAtOnce: true, StopAtOnce: true, Now: func() time.Time { return time.Now().Add(-time.Duration(ago.Load())) }})
	wanted := w.only()
	ago.Store(int64(20 * time.Minute))
	order := func(id string) string {
		spec := w.RunNow(w.run)
		spec.ID = id
		handle, err := w.Sandboxes.Start(t.Context(), specOf(spec))
		w.must(err)
		return handle
	}
	unknown := order("6f1d2a8e-0f0b-5b6e-9a51-0d8f6f4f6a11")
	ago.Store(0)
	young := order("6f1d2a8e-0f0b-5b6e-9a51-0d8f6f4f6a12")
	w.d.searched = time.Time{}
	w.handle(t.Context(), wake(w.run))
	for _, one := range w.ecs.Tasks() {
		if stopped := one.LastStatus == "STOPPED"; stopped != (one.ARN == unknown) {
			t.Errorf("%s is %s (wanted %s, young %s)", one.ARN, one.LastStatus, wanted.ARN, young)
		}
	}
	if !strings.Contains(w.log.String(), `"OrphanSandboxes":1`) {
		t.Errorf("it was not counted: %s", w.log)
	}
}
