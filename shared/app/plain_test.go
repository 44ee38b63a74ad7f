package app_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"companyos/shared/app"
	"companyos/shared/app/apptest"
	"companyos/shared/executor"
	"companyos/shared/store/storetest"
	"companyos/shared/task"
)

func TestAPlainRunIsWorkedOnOnce(t *testing.T) {
	t.Parallel()
	b := apptest.New(t, 1)
	tk := b.NewTask(task.ExecutorWorkflow, apptest.Notes)
	runID := b.Start(tk.ID, 1)
	var mu sync.Mutex
	worked := 0
	b.Runner = func(_ context.Context, job app.Job) task.Outcome {
		mu.Lock()
		defer mu.Unlock()
		if worked++; len(job.Input) == 0 || job.Run.ID != runID {
			t.Errorf("job %+v", job)
		}
		return task.OutcomeOf(task.EndCompleted, "workflow done")
	}
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() { b.Handle(b.Work, runID) })
	}
	all.Wait()
	b.Pass(5 * time.Minute)
	run, got := b.RunNow(runID), b.TaskNow(tk.ID)
	if worked != 1 || run.State != task.StateCompleted || got.Status != task.StatusInReview || got.Result.Content != "workflow done" || got.Checkout != nil {
		t.Errorf("worked %d times, run %s, Task %s", worked, run.State, got.Status)
	}
	if b.Work.Len() != 0 || len(b.Fleet.Boxes()) != 0 {
		t.Error("something is left")
	}
	b.Check()
}

func TestAPlainRunWhoseWorkerIsLostIsNotRepeated(t *testing.T) {
	t.Parallel()
	b := apptest.New(t, 1)
	tk := b.NewTask(task.ExecutorWorkflow, apptest.Notes)
	runID := b.Start(tk.ID, 1)
	worked := 0
	b.Runner = func(context.Context, app.Job) task.Outcome { worked++; return task.Outcome{} }
	ctx, die := context.WithCancel(t.Context())
	_ = b.Execute(ctx, runID, func(context.Context, app.Job) task.Outcome { die(); return task.Outcome{} })
	if run := b.RunNow(runID); run.State != task.StateRunning {
		t.Fatalf("run %s", run.State)
	}
	b.Pass(14 * time.Minute)
	b.Check()
	b.Pass(2 * time.Minute)
	run, got := b.RunNow(runID), b.TaskNow(tk.ID)
	text := "Worker lost and attempt budget exhausted; run was not re-executed."
	if worked != 0 || run.State != task.StateError || run.Ended.Kind != task.EndLost || got.Result.Content != text {
		t.Errorf("worked %d times, run %s %+v", worked, run.State, run.Ended)
	}
	b.Check()
}

func TestCancelOfAPlainRun(t *testing.T) {
	t.Parallel()
	b := apptest.New(t, 1)
	waiting := b.Start(b.NewTask(task.ExecutorWorkflow, apptest.Notes).ID, 1)
	cancel(t, b, waiting)
	if run := b.RunNow(waiting); run.State != task.StateCancelled || run.Content != task.CancelledBefore {
		t.Errorf("run %s %q", run.State, run.Content)
	}
	tk := b.NewTask(task.ExecutorWorkflow, apptest.Notes)
	runID := b.Start(tk.ID, 1)
	b.Runner = func(ctx context.Context, _ app.Job) task.Outcome {
		cancel(t, b, runID)
		<-ctx.Done()
		return task.OutcomeOf(task.EndCompleted, "too late")
	}
	b.Handle(b.Work, runID)
	run, got := b.RunNow(runID), b.TaskNow(tk.ID)
	if run.State != task.StateCancelled || run.Content != task.CancelledRun || got.Result.Status != task.ResultCancelled || got.Status != task.StatusInProgress {
		t.Errorf("run %s %q, Task %s", run.State, run.Content, got.Status)
	}
	b.Pass(time.Minute)
	b.Check()
}

func TestARunWhoseExecutorIsGoneIsRevoked(t *testing.T) {
	t.Parallel()
	for kind, id := range map[task.ExecutorKind]string{task.ExecutorWorkflow: apptest.Notes, task.ExecutorAgent: apptest.Engineer} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			b := apptest.New(t, 1)
			tk := b.NewTask(kind, id)
			runID := b.Start(tk.ID, 1)
			b.Executors.Replace(b.Executors.Registry().Without(kind, id))
			b.Drain()
			run, got := b.RunNow(runID), b.TaskNow(tk.ID)
			if run.State != task.StateError || run.Ended.Kind != task.EndExecutorRevoked || got.Result.Content != "Task acceptance was changed or revoked" {
				t.Errorf("run %s %+v", run.State, run.Ended)
			}
			if len(b.Fleet.Boxes()) != 0 {
				t.Error("it was started")
			}
			b.Check()
		})
	}
}

func TestAnotherExecutorContinuesOnThePinWithoutTheConversation(t *testing.T) {
	t.Parallel()
	b, s, tk, _ := working(t)
	if err := s.Upload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Report(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.Fleet.End(s.Box, "")
	b.Pass(time.Minute)
	if _, err := b.MoveTask(t.Context(), tk.ID, task.Move{Target: task.StatusBacklog, Reason: "another one", By: apptest.Alice()}); err != nil {
		t.Fatal(err)
	}
	b.Accept(tk.ID, task.ExecutorAgent, apptest.Reviewer)
	b.Start(tk.ID, 2)
	b.Drain()
	next := b.Supervise(b.Fleet.Alive()[0])
	if err := next.Claim(t.Context()); err != nil {
		t.Fatal(err)
	}
	w := next.Work
	if w.Commit != apptest.Commit || w.Patch == nil || w.Transcript != nil || w.Repository != (executor.Repository{URL: apptest.Repository, Branch: apptest.Branch}) {
		t.Errorf("work %+v", w)
	}
	b.Check()
}

func TestRecoveryWakesOrSettlesAndNeverStarts(t *testing.T) {
	t.Parallel()
	b := apptest.New(t, 1)
	tk := b.NewTask(task.ExecutorAgent, apptest.Engineer)
	expect := func(want app.RecoverAction) {
		t.Helper()
		got, err := b.RecoverTask(t.Context(), tk.ID)
		if err != nil || got.Action != want {
			t.Errorf("recovery %+v, %v; want %s", got, err, want)
		}
	}
	expect(app.RecoverNothing)
	runID := b.Start(tk.ID, 1)
	b.Attempts.Clear()
	expect(app.RecoverSubmitted)
	b.Drain()
	finish(t, b, tk.ID, runID)
	expect(app.RecoverObserved)
	// A reservation whose run is gone, which no crash of this program leaves behind.
	b.Start(tk.ID, 2)
	for _, statement := range []string{"DELETE FROM run_events WHERE run_id = $1", "DELETE FROM runs WHERE id = $1"} {
		if _, err := b.DB.Pool().Exec(t.Context(), statement, task.RunID(tk.ID, 2)); err != nil {
			t.Fatal(err)
		}
	}
	expect(app.RecoverSettled)
	if got := b.TaskNow(tk.ID); got.Result.Status != task.ResultCancelled || got.LiveRunID != nil || got.Status != task.StatusInProgress {
		t.Errorf("Task %s %+v", got.Status, got.Result)
	}
	expect(app.RecoverObserved)
}

// The work was done: a database that takes nothing at that moment is asked again.
func TestTheOutcomeOfAPlainRunWaitsForTheDatabase(t *testing.T) {
	t.Parallel()
	b := apptest.New(t, 1)
	tk := b.NewTask(task.ExecutorWorkflow, apptest.Notes)
	runID := b.Start(tk.ID, 1)
	worked := 0
	err := b.Execute(t.Context(), runID, func(context.Context, app.Job) task.Outcome {
		worked++
		storetest.FailCommits(t, b.DB, "runs", 7) // more than one transaction repeats
		return task.OutcomeOf(task.EndCompleted, "notes")
	})
	if run := b.RunNow(runID); err != nil || worked != 1 || run.State != task.StateCompleted || run.Content != "notes" {
		t.Errorf("%v; worked %d times, run %s: %s", err, worked, run.State, run.Content)
	}
	b.Check()
}
