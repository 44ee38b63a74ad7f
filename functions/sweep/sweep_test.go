package main

import (
	"sync"
	"testing"
	"time"

	"companyos/shared/app/apptest"
	"companyos/shared/store"
	"companyos/shared/task"
)

// A tick that comes twice, overlaps itself or was left out for hours does the same: lost wakes are sent again.
func TestTicksAtOnceAndAfterAPause(t *testing.T) {
	t.Parallel()
	b := apptest.New(t, 2)
	tk := b.NewTask(task.ExecutorAgent, apptest.Engineer)
	run := b.Start(tk.ID, 1)
	b.Attempts.Clear()
	b.Travel(40 * time.Minute)
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			if err := sweep(t.Context(), b.Company); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	b.Drain()
	if boxes := b.Fleet.Boxes(); len(boxes) != 1 || b.RunNow(run).State != task.StateLaunching {
		t.Errorf("%d sandboxes, run %s", len(boxes), b.RunNow(run).State)
	}
	b.Check()
}

// One duty that fails is reported and keeps no other from its turn.
func TestAFailureIsReported(t *testing.T) {
	t.Parallel()
	b := apptest.New(t, 2)
	gone, err := store.Open(t.Context(), store.Config{URL: "postgres://nobody@127.0.0.1:1/none"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(gone.Close)
	b.Company.DB = gone
	if err := sweep(t.Context(), b.Company); task.KindOf(err) != task.KindUnavailable {
		t.Errorf("%v", err)
	}
}
