package app_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"companyos/shared/app/apptest"
	"companyos/shared/task"
)

func cancel(t *testing.T, b *apptest.Bench, runID string) {
	t.Helper()
	if err := b.CancelRun(t.Context(), apptest.Alice(), runID); err != nil {
		t.Fatal(err)
	}
}

func TestCancelBeforeAnythingWasStarted(t *testing.T) {
	t.Parallel()
	b := apptest.New(t, 2)
	tk := b.NewTask(task.ExecutorAgent, apptest.Engineer)
	runID := b.Start(tk.ID, 1)
	cancel(t, b, runID)
	run, got := b.RunNow(runID), b.TaskNow(tk.ID)
	if run.State != task.StateCancelled || run.Content != task.CancelledBefore || got.Status != task.StatusInProgress ||
		got.Result == nil || got.Result.Status != task.ResultCancelled || got.Result.Content != task.CancelledBefore {
		t.Errorf("run %s %q, Task %s %+v", run.State, run.Content, got.Status, got.Result)
	}
	cancel(t, b, runID) // of a run that has ended
	b.Pass(time.Minute)
	if len(b.Fleet.Boxes()) != 0 {
		t.Error("a cancelled run was started")
	}
	b.Check()
}

func TestCancelWhileTheSandboxIsBeingAskedFor(t *testing.T) {
	t.Parallel()
	b := apptest.New(t, 2)
	tk := b.NewTask(task.ExecutorAgent, apptest.Engineer)
	runID := b.Start(tk.ID, 1)
	b.Fleet.Plan = func(call string) apptest.Fault {
		if call == "start" {
			cancel(t, b, runID)
		}
		return apptest.FaultNone
	}
	b.Drain()
	box := onlyBox(t, b)
	if run := b.RunNow(runID); run.State != task.StateCancelling || run.SandboxARN != box.Handle || !box.StopAsked {
		t.Errorf("run %s, sandbox %q, told to stop: %v", run.State, run.SandboxARN, box.StopAsked)
	}
	if err := b.Supervise(box).Claim(t.Context()); code(err) != "fenced" {
		t.Errorf("a claim while cancelling: %v", err)
	}
	b.Check()
	b.Pass(time.Minute)
	if run := b.RunNow(runID); run.State != task.StateCancelling {
		t.Errorf("run %s while its sandbox runs", run.State)
	}
	b.Fleet.End(box, "")
	b.Pass(time.Minute)
	run, got := b.RunNow(runID), b.TaskNow(tk.ID)
	if run.State != task.StateCancelled || run.Content != task.CancelledBefore || got.Result.Status != task.ResultCancelled || got.LiveRunID != nil {
		t.Errorf("run %s %q, Task %+v", run.State, run.Content, got.Result)
	}
	b.Check()
}

func TestCancelOfALaunchWhoseOutcomeNobodyKnows(t *testing.T) {
	t.Parallel()
	for _, fault := range []apptest.Fault{apptest.FaultBefore, apptest.FaultAfter} {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			b := apptest.New(t, 1)
			tk := b.NewTask(task.ExecutorAgent, apptest.Engineer)
			b.Fleet.Plan = once("start", 1, fault)
			b.Fleet.Lag = 30 * time.Second
			runID := b.Start(tk.ID, 1)
			b.Deliver(b.Attempts, b.Attempts.Due()[0])
			cancel(t, b, runID)
			b.Pass(5 * time.Minute)
			for _, box := range b.Fleet.Alive() {
				if !box.StopAsked {
					t.Error("the sandbox was not told to stop")
				}
				b.Fleet.End(box, "")
			}
			if fault == apptest.FaultBefore && b.RunNow(runID).State != task.StateCancelling {
				t.Error("an empty list was believed while the launch might still arrive")
			}
			b.Pass(12 * time.Minute)
			if run := b.RunNow(runID); run.State != task.StateCancelled || run.StoppedAt == nil {
				t.Errorf("run %s, stopped %v", run.State, run.StoppedAt)
			}
			if n := b.Fleet.Calls("start"); n != 1 {
				t.Errorf("%d calls", n)
			}
			b.Check()
		})
	}
}

func TestCancelOfWorkGivesItAGraceAndKeepsItsResult(t *testing.T) {
	t.Parallel()
	b, s, tk, runID := working(t)
	cancel(t, b, runID)
	b.Pass(6 * time.Second)
	if s.Box.StopAsked {
		t.Error("no grace was given")
	}
	if end, err := s.Say(t.Context(), "saving"); err != nil || !end {
		t.Errorf("events: cancel %v, %v", end, err)
	}
	s.Kind, s.Content = task.EndCancelled, "half of it"
	for _, step := range []func(context.Context) error{s.Upload, s.Report, s.Report} {
		if err := step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Prepare(t.Context()); code(err) != "cancelled" {
		t.Errorf("prepared while cancelling: %v", err)
	}
	b.Fleet.End(s.Box, "")
	b.Pass(time.Minute)
	run, got := b.RunNow(runID), b.TaskNow(tk.ID)
	if run.State != task.StateCancelled || run.Content != task.CancelledRun || got.Result.Content != task.CancelledRun || got.Status != task.StatusInProgress {
		t.Errorf("run %s %q, Task %s %+v", run.State, run.Content, got.Status, got.Result)
	}
	if run.ResultSHA256 != s.ResultSHA || run.Artifact(task.ArtifactPatch) == nil {
		t.Error("the evidence is gone")
	}
	if err := s.Report(t.Context()); err != nil {
		t.Errorf("the same result again: %v", err)
	}
	if s.ResultSHA = "bb"; code(s.Report(t.Context())) != "fenced" {
		t.Error("another result was not fenced")
	}
	b.Check()
}

func TestCancelOfASandboxThatDoesNotEndStopsIt(t *testing.T) {
	t.Parallel()
	b, s, _, runID := working(t)
	cancel(t, b, runID)
	b.Pass(30 * time.Second)
	if !s.Box.StopAsked || b.RunNow(runID).State != task.StateCancelling {
		t.Errorf("told to stop: %v, run %s", s.Box.StopAsked, b.RunNow(runID).State)
	}
	b.Pass(time.Hour) // it hangs: it is looked at less and less, and keeps its slot
	if n := b.Fleet.Calls("describe"); n > 120 {
		t.Errorf("%d looks in an hour", n)
	}
	b.Check()
	b.Fleet.End(s.Box, "")
	b.Pass(2 * time.Minute)
	if run := b.RunNow(runID); run.State != task.StateCancelled {
		t.Errorf("run %s", run.State)
	}
	b.Check()
}

func TestCancelAfterTheSandboxStopped(t *testing.T) {
	t.Parallel()
	b, s, _, runID := working(t)
	b.Fleet.End(s.Box, "")
	b.Handle(b.Attempts, runID)
	cancel(t, b, runID)
	if run := b.RunNow(runID); run.State != task.StateCancelled {
		t.Errorf("run %s", run.State)
	}
	b.Check()
}

func TestCancelNeedsTheRunPermission(t *testing.T) {
	t.Parallel()
	b, _, runID := started(t)
	err := b.CancelRun(t.Context(), task.Caller{ID: "bob", Scopes: []string{"tasks:write"}}, runID)
	if task.KindOf(err) != task.KindForbidden {
		t.Errorf("without the permission: %v", err)
	}
	err = b.CancelRun(t.Context(), apptest.Alice(), task.RunID("none", 1))
	if e, ok := errors.AsType[*task.Error](err); !ok || e.Kind != task.KindNotFound || e.Detail != "Company run not found" {
		t.Errorf("an unknown run: %v", err)
	}
}

func TestATaskThatIsTakenAwayEndsItsRunAtEveryStage(t *testing.T) {
	t.Parallel()
	away := map[string]func(*testing.T, *apptest.Bench, string){
		"backlog": func(t *testing.T, b *apptest.Bench, id string) {
			t.Helper()
			moved, err := b.MoveTask(t.Context(), id, task.Move{Target: task.StatusBacklog, Reason: "not now", By: apptest.Alice()})
			if err != nil || moved.CancelledRunID != task.RunID(id, 1) {
				t.Errorf("cancelled %q, %v", moved.CancelledRunID, err)
			}
		},
		"cancelled": func(t *testing.T, b *apptest.Bench, id string) {
			t.Helper()
			if _, err := b.MoveTask(t.Context(), id, task.Move{Target: task.StatusCancelled, Reason: "never", By: apptest.Alice()}); err != nil {
				t.Error(err)
			}
		},
		"archived": func(t *testing.T, b *apptest.Bench, id string) {
			t.Helper()
			if err := b.ArchiveTask(t.Context(), id); err != nil {
				t.Error(err)
			}
		},
	}
	stages := map[string]func(*testing.T, *apptest.Bench, *apptest.Supervisor) *apptest.Supervisor{
		"waiting": func(*testing.T, *apptest.Bench, *apptest.Supervisor) *apptest.Supervisor { return nil },
		"launching": func(t *testing.T, b *apptest.Bench, _ *apptest.Supervisor) *apptest.Supervisor {
			b.Drain()
			return b.Supervise(onlyBox(t, b))
		},
		"working": func(t *testing.T, b *apptest.Bench, _ *apptest.Supervisor) *apptest.Supervisor {
			b.Drain()
			s := b.Supervise(onlyBox(t, b))
			for _, step := range []func(context.Context) error{s.Claim, s.Prepare, s.Upload} {
				if err := step(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			return s
		},
	}
	for name, take := range away {
		for stage, reach := range stages {
			t.Run(name+" "+stage, func(t *testing.T) {
				t.Parallel()
				b := apptest.New(t, 2)
				tk := b.NewTask(task.ExecutorAgent, apptest.Engineer)
				runID := b.Start(tk.ID, 1)
				s := reach(t, b, nil)
				take(t, b, tk.ID)
				b.Check()
				if s != nil {
					_ = s.Report(t.Context()) // it may be kept, it may not count
					b.Pass(time.Minute)
					b.Fleet.End(s.Box, "")
				}
				b.Pass(2 * time.Minute)
				run, got := b.RunNow(runID), b.TaskNow(tk.ID)
				if run.State != task.StateCancelled || got.LiveRunID != nil || got.Result != nil || got.Checkout != nil {
					t.Errorf("run %s, Task %s %+v", run.State, got.Status, got.Result)
				}
				if len(b.Fleet.Boxes()) > 1 || len(b.Fleet.Alive()) > 0 {
					t.Error("something was started")
				}
				b.Check()
			})
		}
	}
}

func TestALateReportLeavesTheNextAttemptAlone(t *testing.T) {
	t.Parallel()
	b, s, tk, _ := working(t)
	if err := s.Upload(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.ResultSHA = "cc"
	b.Fleet.End(s.Box, task.EndInterrupted)
	b.Pass(40 * time.Minute)
	second := b.Start(tk.ID, 2)
	b.Drain()
	if err := s.Report(t.Context()); err == nil {
		t.Error("a report of the first attempt was taken")
	}
	if run := b.RunNow(second); run.State != task.StateLaunching {
		t.Errorf("the second attempt is %s", run.State)
	}
	b.Check()
}
