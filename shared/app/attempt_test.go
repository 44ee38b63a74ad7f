package app_test

import (
	"testing"
	"time"

	"companyos/shared/app/apptest"
	"companyos/shared/task"
)

func TestAnAttemptFromStartToReview(t *testing.T) {
	t.Parallel()
	b := apptest.New(t, 2)
	tk := b.NewTask(task.ExecutorAgent, apptest.Engineer)
	runID := b.Start(tk.ID, 1)
	b.Drain()
	boxes := b.Fleet.Alive()
	if len(boxes) != 1 {
		t.Fatalf("%d sandboxes run", len(boxes))
	}
	if err := b.Supervise(boxes[0]).Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.Pass(2 * time.Minute)
	run, done := b.RunNow(runID), b.TaskNow(tk.ID)
	if run.State != task.StateCompleted || run.StoppedAt == nil || done.Status != task.StatusInReview {
		t.Fatalf("run %s stopped %v, Task %s", run.State, run.StoppedAt, done.Status)
	}
	if done.Result == nil || done.Result.Content != "Hello World!" || done.LiveRunID != nil {
		t.Errorf("result %+v, live run %v", done.Result, done.LiveRunID)
	}
	if done.Checkout == nil || *done.Checkout != (task.Checkout{SourceID: b.SourceID, URL: apptest.Repository, Branch: apptest.Branch, Commit: apptest.Commit}) {
		t.Errorf("pin %+v", done.Checkout)
	}
	if n := b.Attempts.Len(); n != 0 {
		t.Errorf("%d messages are left of a run that has ended", n)
	}
	b.Check()
}
