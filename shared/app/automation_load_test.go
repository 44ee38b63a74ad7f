package app_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"companyos/shared/app"
	"companyos/shared/app/apptest"
	"companyos/shared/routine"
	"companyos/shared/store"
	"companyos/shared/task"
)

// loadFor is how long TestManyAtOnce goes on: COMPANY_TEST_LOAD, else 3 s.
func loadFor(t *testing.T) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(os.Getenv("COMPANY_TEST_LOAD"))
	if err != nil {
		return 3 * time.Second
	}
	return d
}

// TestManyAtOnce: two sweeps and twenty people at once. Whatever they do, the invariants hold and no policy accepts more
// than its budget.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	a := newAuto(t)
	var routines []routine.Routine
	for n := range 3 {
		routines = append(routines, a.newRoutine(fmt.Sprint("intake ", n), a.policy(3)))
	}
	ctx, stop := context.WithCancel(a.ctx())
	defer stop()
	var all sync.WaitGroup
	var mu sync.Mutex
	done := map[string]int{}
	loop := func(name string, f func() error) {
		all.Go(func() {
			for ctx.Err() == nil {
				err := f()
				mu.Lock()
				done[name]++
				mu.Unlock()
				if err == nil || task.KindOf(err) != task.KindInternal || ctx.Err() != nil || errors.Is(err, store.ErrChanged) {
					continue
				}
				t.Errorf("%s: %v", name, err)
				return
			}
		})
	}
	for range 2 {
		loop("tick", func() error { _, err := a.Tick(ctx); return err })
		loop("sweep", func() error { return errors.Join(a.Sweep(ctx), fold(ctx, a)) })
	}
	loop("work", func() error {
		time.Sleep(5 * time.Millisecond)
		for _, m := range a.Work.Due() {
			if err := a.Execute(ctx, m.RunID, a.Runner); err == nil {
				a.Work.Delete(m)
			}
		}
		return nil
	})
	for person := range 20 {
		loop("person", func() error { return act(ctx, a, routines, person) })
	}
	time.Sleep(loadFor(t))
	accepted := func() int64 { return a.count("SELECT count(*) FROM acceptances") }
	for patience := time.Now().Add(time.Minute); accepted() == 0 && time.Now().Before(patience); { // a busy machine takes longer
		time.Sleep(100 * time.Millisecond)
	}
	stop()
	all.Wait()
	a.Drain()
	t.Logf("%v, %d accepted by policies", done, accepted())
	if done["tick"] == 0 || accepted() == 0 {
		t.Error("nothing was accepted: the test shows nothing")
	}
	a.Check()
}

func fold(ctx context.Context, a *auto) error {
	_, err := a.DB.FoldCounts(ctx)
	return err
}

// act is one thing that a person does, at random.
func act(ctx context.Context, a *auto, routines []routine.Routine, person int) error {
	r := routines[rand.N(len(routines))]
	list, err := a.Tasks(ctx, store.Page{Limit: 20, Number: 1}, store.TaskFilter{ProductID: a.ProductID})
	if err != nil {
		return err
	}
	if len(list.Rows) == 0 || rand.N(4) == 0 {
		_, err := a.Intake(ctx, r.ID, a.ProductID, "run", app.Proposal{
			SourceID: a.SourceID, ProjectID: a.ProjectID, Title: "t", Key: fmt.Sprint(person, rand.N(1000)), Links: []string{link}, Hashes: map[string]string{link: hash},
		})
		return err
	}
	tk := list.Rows[rand.N(len(list.Rows))].Task
	switch rand.N(8) {
	case 0:
		_, err = a.EditRoutine(ctx, apptest.Alice(), r.ID, policyEdit(a.policy(int64(1+rand.N(4)))))
	case 1:
		if _, err = a.PauseRoutine(ctx, r.ID); err == nil {
			_, err = a.ResumeRoutine(ctx, apptest.Alice(), r.ID)
		}
	case 2:
		_, err = a.TriggerRoutine(ctx, apptest.Alice(), r.ID)
	case 3:
		_, err = a.MoveTask(ctx, tk.ID, task.Move{Target: task.StatusBacklog, Reason: "no", By: apptest.Alice()})
	case 4:
		_, err = a.MoveTask(ctx, tk.ID, task.Move{Target: task.StatusDone, Reason: "yes", By: apptest.Alice()})
	case 5:
		_, err = a.MoveTask(ctx, tk.ID, task.Move{
			Target: task.StatusReady, Reason: "go", By: apptest.Alice(), Executor: &task.ExecutorRef{Kind: task.ExecutorWorkflow, ID: apptest.Notes},
		})
	case 6:
		_, err = a.StartRun(ctx, tk.ID, task.Start{Attempt: tk.Attempts() + 1, By: apptest.Alice()})
	case 7:
		_, err = a.Attention(ctx, a.ProductID, store.Page{Limit: 20, Number: 1})
	}
	return err
}
