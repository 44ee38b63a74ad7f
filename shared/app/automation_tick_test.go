package app_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"companyos/shared/app"
	"companyos/shared/app/apptest"
	"companyos/shared/routine"
	"companyos/shared/task"
)

// TestIdleTick: what waits for a person or has no policy that could accept it is not even read, and nothing is written.
func TestIdleTick(t *testing.T) {
	t.Parallel()
	a := newAuto(t)
	plain, spent, off := a.newRoutine("plain", nil), a.newRoutine("spent", a.policy(1)), a.newRoutine("off", a.policy(1))
	for _, r := range []routine.Routine{plain, off} {
		a.propose(r, "of "+r.Name)
	}
	_, err := a.PauseRoutine(a.ctx(), off.ID)
	a.must(err)
	first := a.propose(spent, "first")
	a.tick()
	a.Drain()
	a.propose(spent, "second")
	_, err = a.MoveTask(a.ctx(), first.ID, task.Move{Target: task.StatusBacklog, Reason: "again", By: apptest.Alice()})
	a.must(err)
	tables := []string{"tasks", "routines", "claims", "streaks", "automation_runs", "acceptances", "runs", "count_deltas"}
	state := func() (out string) {
		for _, table := range tables {
			out += fmt.Sprint(table, a.count("SELECT COALESCE(sum(xmin::text::bigint), 0) FROM "+table), " ")
		}
		return out
	}
	before := state()
	if got := a.tick(); got.Status != app.TickIdle || len(got.Tasks) != 0 {
		t.Errorf("%+v", got)
	}
	if after := state(); after != before {
		t.Errorf("an idle tick wrote:\n%s\n%s", before, after)
	}
}

// TestTickClaims: two ticks at once do the work of one; a holder that died is overdue after its time.
func TestTickClaims(t *testing.T) {
	t.Parallel()
	a := newAuto(t)
	r := a.newRoutine("intake", a.policy(3))
	for n := range 8 {
		a.propose(r, fmt.Sprint("k", n))
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	held, accepted := 0, 0
	for range 6 {
		all.Go(func() {
			got, err := a.Tick(a.ctx())
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			if got.Status == app.TickHeld {
				held++
			}
			for _, o := range got.Tasks {
				if o.Status == app.OutcomeAccepted {
					accepted++
				}
			}
		})
	}
	all.Wait()
	if accepted != 3 || a.count("SELECT count(*) FROM acceptances") != 3 || a.count("SELECT count(*) FROM runs") != 3 {
		t.Errorf("%d accepted, %d held", accepted, held)
	}
	a.exec("INSERT INTO claims VALUES ('automation', 'dead', clock_timestamp() + interval '1 minute')")
	tk := a.NewTask(task.ExecutorWorkflow, apptest.Notes)
	if got := a.tick(); got.Status != app.TickHeld {
		t.Errorf("%+v", got)
	}
	a.exec("UPDATE claims SET claimed_until = clock_timestamp() - interval '1 second'")
	if o := outcome(a.tick(), tk.ID); o.Action != "submitted" {
		t.Errorf("%+v", o)
	}
	a.Check()
}

// TestTickBudget: after 240 s nothing new begins, and the history says so. The clock jumps, as it may.
func TestTickBudget(t *testing.T) {
	t.Parallel()
	a := newAuto(t)
	r := a.newRoutine("intake", a.policy(5, "first"))
	first, second := a.propose(r, "k1"), a.propose(r, "k2")
	a.onCheck = func() { a.mu.Lock(); defer a.mu.Unlock(); a.onCheck, a.offset = nil, 241*time.Second }
	got := a.tick()
	if got.Status != app.TickFailed || got.Error != routine.ReasonBudget {
		t.Errorf("%+v", got)
	}
	if outcome(got, first.ID).Action != "submitted" || outcome(got, second.ID).TaskID != "" {
		t.Errorf("%+v", got.Tasks)
	}
	if n := a.count("SELECT count(*) FROM automation_runs WHERE status = 'failed' AND error = $1", routine.ReasonBudget); n != 1 {
		t.Errorf("%d lines of history", n)
	}
	a.offset = -time.Hour // and back
	if o := outcome(a.tick(), second.ID); o.Action != "submitted" {
		t.Errorf("%+v", o)
	}
}

// TestTickStopped: what was done is recorded, and that the process was to end.
func TestTickStopped(t *testing.T) {
	t.Parallel()
	a := newAuto(t)
	r := a.newRoutine("intake", a.policy(5, "first"))
	a.propose(r, "k1")
	a.propose(r, "k2")
	ctx, stop := context.WithCancel(a.ctx())
	a.passes["first"] = false
	a.onCheck = stop
	got, err := a.Tick(ctx)
	if err != nil || got.Status != app.TickCancelled || got.Error != "Execution cancelled during shutdown" {
		t.Errorf("%+v %v", got, err)
	}
	if n := a.count("SELECT count(*) FROM automation_runs WHERE status = 'cancelled'"); n != 1 || a.count("SELECT count(*) FROM claims") != 0 {
		t.Errorf("%d lines of history", n)
	}
}

// TestRecoveryComesFirst: a reserved attempt is reconciled before any question of policy, and nothing new begins with it.
func TestRecoveryComesFirst(t *testing.T) {
	t.Parallel()
	a := newAuto(t)
	r := a.newRoutine("intake", a.policy(5))
	tk := a.propose(r, "k")
	a.tick()
	runID := task.RunID(tk.ID, 1)
	// The run ended and the Task was not told; meanwhile the policy is gone.
	a.exec(`UPDATE runs SET state = 'COMPLETED', content = 'x', ended = '{"kind": "completed", "message": ""}', ended_at = now() WHERE id = $1`, runID)
	a.edit(r, policyEdit(nil))
	got := a.tick()
	if o := outcome(got, tk.ID); o.Action != "reconciled" || len(got.Tasks) != 1 {
		t.Errorf("%+v", got)
	}
	if now := a.TaskNow(tk.ID); now.Status != task.StatusInReview || a.count("SELECT count(*) FROM runs") != 1 {
		t.Errorf("the Task is %s", now.Status)
	}
	if n := a.count("SELECT count(*) FROM automation_runs WHERE status = 'success'"); n != 2 {
		t.Errorf("%d lines of history", n)
	}
	a.Check()
}

// TestLostReservation: neither run nor message.
func TestLostReservation(t *testing.T) {
	t.Parallel()
	a := newAuto(t)
	tk := a.NewTask(task.ExecutorWorkflow, apptest.Notes)
	runID := a.Start(tk.ID, 1)
	a.exec("DELETE FROM runs WHERE id = $1", runID)
	if o := outcome(a.tick(), tk.ID); o.Action != "reconciled" {
		t.Errorf("%+v", o)
	}
	if got := a.TaskNow(tk.ID); got.Result.Status != task.ResultCancelled || got.Result.Content != "Reserved attempt lost its queue ticket and run; start the next attempt to retry." {
		t.Errorf("%+v", got.Result)
	}
}
