package app_test

import (
	"context"
	"testing"
	"time"

	"companyos/shared/app/apptest"
	"companyos/shared/task"
)

func TestAWrongCheckoutEndsTheRunBeforeTheAgent(t *testing.T) {
	t.Parallel()
	b, s, tk, _ := working(t)
	for _, step := range []func(context.Context) error{s.Upload, s.Report} {
		if err := step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	b.Fleet.End(s.Box, "")
	b.Pass(time.Minute)
	for attempt, bend := range []func(*apptest.Supervisor){
		func(s *apptest.Supervisor) { s.Commit = "0123456789012345678901234567890123456789" },
		func(s *apptest.Supervisor) { s.Branch = "other" },
	} {
		runID := b.Start(tk.ID, attempt+2)
		b.Drain()
		s := b.Supervise(b.Fleet.Alive()[0])
		if err := s.Claim(t.Context()); err != nil {
			t.Fatal(err)
		}
		if s.Work.Commit != apptest.Commit || s.Work.Patch == nil {
			t.Errorf("work %+v", s.Work)
		}
		bend(s)
		for range 2 { // the answer was lost
			if err := s.Prepare(t.Context()); code(err) != "pin_mismatch" {
				t.Errorf("prepared: %v", err)
			}
		}
		run, got := b.RunNow(runID), b.TaskNow(tk.ID)
		text := "Sandboxed run repository pin does not match the Task checkout"
		if run.State != task.StateError || run.Content != text || got.Result.Content != text || got.Result.Status != task.ResultError ||
			got.Status != task.StatusInProgress || got.Checkout.Commit != apptest.Commit {
			t.Errorf("run %s %q, Task %s %+v", run.State, run.Content, got.Status, got.Result)
		}
		b.Fleet.End(s.Box, "")
		b.Pass(time.Minute)
		b.Check()
	}
}

func TestASourceThatWasRemovedMeanwhileRefusesTheFirstPin(t *testing.T) {
	t.Parallel()
	b, tk, runID := started(t)
	if err := b.ArchiveSource(t.Context(), b.SourceID); err != nil {
		t.Fatal(err)
	}
	s := b.Supervise(onlyBox(t, b))
	if err := s.Claim(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Prepare(t.Context()); code(err) != "pin_mismatch" {
		t.Errorf("prepared: %v", err)
	}
	text := "Sandboxed executor requires a Product git Source matching repository URL " + apptest.Repository
	if run, got := b.RunNow(runID), b.TaskNow(tk.ID); run.Ended.Kind != task.EndSourceGone || got.Result.Content != text {
		t.Errorf("run %+v, Task %+v", run.Ended, got.Result)
	}
	b.Check()
}
