package app_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"companyos/shared/app"
	"companyos/shared/app/apptest"
	"companyos/shared/routine"
	"companyos/shared/store"
	"companyos/shared/task"
)

func (a *auto) scheduled(cron string) routine.Routine {
	a.T.Helper()
	r, err := a.CreateRoutine(a.ctx(), apptest.Alice(), app.RoutineInput{
		ProductID: a.ProductID, Name: "due", ExecutorType: task.ExecutorWorkflow, ExecutorID: apptest.Notes, CronExpr: &cron,
		Instructions: ptrTo("Look around."),
	})
	a.must(err)
	return r
}

func ptrTo[T any](v T) *T { return &v }

// makeDue lets a Routine's time have come a while ago.
func (a *auto) makeDue(r routine.Routine, ago time.Duration) {
	a.T.Helper()
	a.exec("UPDATE routines SET next_run_at = clock_timestamp() - $2::bigint * interval '1 second' WHERE id = $1", r.ID, int64(ago/time.Second))
}

func (a *auto) runs(r routine.Routine) []routine.Run {
	a.T.Helper()
	runs, total, err := a.RoutineRuns(a.ctx(), r.ID, store.Page{Limit: 100, Number: 1})
	a.must(err)
	if int(total) != len(runs) {
		a.T.Fatalf("%d runs, %d counted", len(runs), total)
	}
	return runs
}

func (a *auto) now(r routine.Routine) routine.Routine {
	a.T.Helper()
	got, err := a.Routine(a.ctx(), r.ID)
	a.must(err)
	return got
}

// TestFireDue: however long nobody looked, it is one firing, and the next time is ahead. While that one works, the next
// times are recorded as skipped.
func TestFireDue(t *testing.T) {
	t.Parallel()
	a := newAuto(t)
	r := a.scheduled("*/5 * * * *")
	a.makeDue(r, 6*time.Hour)
	var all sync.WaitGroup
	for range 5 {
		all.Go(func() {
			if err := a.FireDue(a.ctx()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if runs := a.runs(r); len(runs) != 1 || runs[0].Status != routine.StatusRunning || runs[0].UserID != nil {
		t.Fatalf("%+v", runs)
	}
	if next := a.now(r).NextRunAt; next == nil || !next.After(time.Now()) || time.Until(*next) > 5*time.Minute {
		t.Errorf("next at %v", next)
	}
	for range 2 {
		a.makeDue(r, time.Second)
		a.must(a.FireDue(a.ctx()))
	}
	runs := a.runs(r)
	if len(runs) != 3 || runs[0].Status != routine.StatusSkipped || *runs[0].Error != routine.ErrorActive || a.now(r).LastRun.Status != routine.StatusRunning {
		t.Fatalf("%+v", runs)
	}
	a.Runner = func(_ context.Context, job app.Job) task.Outcome {
		if job.Routine == nil || job.Routine.ProductID() != a.ProductID || !strings.Contains(string(job.Input), "Look around.") {
			t.Errorf("%+v", job)
		}
		return task.OutcomeOf(task.EndCompleted, "all quiet")
	}
	a.Drain()
	if last := a.now(r).LastRun; last.Status != routine.StatusSuccess || string(a.runs(r)[2].Output) != `{"content": "all quiet", "content_type": "str"}` {
		t.Errorf("%+v %s", last, a.runs(r)[2].Output)
	}
	a.makeDue(r, time.Second)
	a.must(a.FireDue(a.ctx()))
	if runs := a.runs(r); len(runs) != 4 || runs[0].Status != routine.StatusRunning {
		t.Errorf("%+v", runs)
	}
}

// TestFiringThatCannotRun is told at once, and keeps its schedule; one of an archived Product is turned off.
func TestFiringThatCannotRun(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		with     func(a *auto)
		want     string
		disabled bool
	}{
		"the Product archived": {func(a *auto) { a.must(a.ArchiveProduct(a.ctx(), a.ProductID)) }, routine.ErrorProductArchived, true},
		"the executor gone": {func(a *auto) {
			a.Executors.Replace(a.Executors.Registry().Without(task.ExecutorWorkflow, apptest.Notes))
		}, "Routine executor is missing from the registry", false},
		"whose rights they are disabled": {func(a *auto) { a.rights = app.Rights{Known: true, Disabled: true} }, "Schedule owner is disabled", false},
		"the rights gone":                {func(a *auto) { a.rights = app.Rights{Known: true, Scopes: []string{"tasks:read"}} }, "Insufficient permissions. Required scope(s): workflows:run", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAuto(t)
			r := a.scheduled("*/5 * * * *")
			c.with(a)
			a.makeDue(r, time.Minute)
			a.must(a.FireDue(a.ctx()))
			runs, now := a.runs(r), a.now(r)
			if len(runs) != 1 || runs[0].Status != routine.StatusFailed || *runs[0].Error != c.want || now.LastRun.Status != routine.StatusFailed {
				t.Fatalf("%+v", runs)
			}
			if now.Enabled == c.disabled || !now.NextRunAt.After(time.Now()) {
				t.Errorf("%+v", now)
			}
			if c.disabled && *now.DisabledReason != routine.DisabledProductArchived {
				t.Errorf("disabled because of %v", *now.DisabledReason)
			}
			if got, err := a.Attention(a.ctx(), a.ProductID, store.Page{Limit: 20, Number: 1}); err != nil || (got.Failed == 1) == c.disabled {
				t.Errorf("attention %+v %v", got, err)
			}
			if c.disabled {
				_, err := a.RestoreProduct(a.ctx(), a.ProductID)
				a.must(err)
				if a.now(r).Enabled {
					t.Error("restoring the Product turned its Routine on")
				}
				resumed, err := a.ResumeRoutine(a.ctx(), apptest.Alice(), r.ID)
				if err != nil || !resumed.Enabled || resumed.DisabledReason != nil {
					t.Errorf("%+v %v", resumed, err)
				}
			}
		})
	}
}

// TestProductArchivedUnderAFiring: the run was recorded, and its Product is gone when the work begins.
func TestProductArchivedUnderAFiring(t *testing.T) {
	t.Parallel()
	a := newAuto(t)
	r := a.scheduled("*/5 * * * *")
	_, err := a.TriggerRoutine(a.ctx(), apptest.Alice(), r.ID)
	a.must(err)
	a.must(a.ArchiveProduct(a.ctx(), a.ProductID))
	worked := false
	a.Runner = func(context.Context, app.Job) task.Outcome {
		worked = true
		return task.OutcomeOf(task.EndCompleted, "x")
	}
	a.Drain()
	if runs := a.runs(r); worked || runs[0].Status != routine.StatusFailed || *runs[0].Error != routine.ErrorProductArchived {
		t.Errorf("worked %v, %+v", worked, runs)
	}
}

// TestLostFiring: a lost message is sent again; a worker that died is not repeated.
func TestLostFiring(t *testing.T) {
	t.Parallel()
	a := newAuto(t)
	r := a.scheduled("*/5 * * * *")
	_, err := a.TriggerRoutine(a.ctx(), apptest.Alice(), r.ID)
	a.must(err)
	a.Work.Clear()
	a.must(a.FireDue(a.ctx()))
	if a.Work.Len() != 0 {
		t.Error("a message that may be on its way was sent again")
	}
	a.exec("UPDATE routine_runs SET triggered_at = triggered_at - interval '2 minutes'")
	a.must(a.FireDue(a.ctx()))
	if a.Work.Len() != 1 {
		t.Fatal("the lost message was not sent again")
	}
	worked := 0
	a.Runner = func(context.Context, app.Job) task.Outcome { worked++; panic(apptest.Crash{Call: "worker"}) }
	for _, m := range a.Work.Due() {
		func() {
			defer func() { _ = recover() }()
			a.Deliver(a.Work, m)
		}()
	}
	a.exec("UPDATE routine_runs SET status = 'running', claimed_by = 'dead', lease_until = clock_timestamp() - interval '1 second', completed_at = NULL, error = NULL")
	a.exec("UPDATE routines SET live_run_id = (SELECT id FROM routine_runs)")
	a.must(a.FireDue(a.ctx()))
	a.Drain()
	if runs := a.runs(r); runs[0].Status != routine.StatusFailed || *runs[0].Error != routine.ErrorLost || a.now(r).LiveRunID != nil || worked != 1 {
		t.Errorf("worked %d times, %+v", worked, runs)
	}
}

// TestTrigger: whose rights, and who may.
func TestTrigger(t *testing.T) {
	t.Parallel()
	a := newAuto(t)
	runner := func(id string) task.Caller {
		return task.Caller{ID: id, Scopes: append([]string{"workflows:run"}, (&routine.Policy{}).GrantScopes()...)}
	}
	alice, bob := runner("alice"), runner("bob")
	template := routine.TemplateIntake
	in := app.RoutineInput{ProductID: a.ProductID, Name: "x", Template: &template, ExecutorType: task.ExecutorWorkflow, ExecutorID: apptest.Notes, Policy: a.policy(1)}
	r, err := a.CreateRoutine(a.ctx(), alice, in)
	a.must(err)
	expect := func(by task.Caller, id, want string) {
		t.Helper()
		_, err := a.TriggerRoutine(a.ctx(), by, id)
		if got := errText(err); got != want {
			t.Errorf("%s: %q, want %q", by.ID, got, want)
		}
	}
	expect(bob, r.ID, "Only the user who authorized automatic acceptance may run this Routine")
	expect(task.Caller{ID: "carol"}, r.ID, "Insufficient permissions. Required scope(s): workflows:run")
	expect(alice, "none", "Schedule not found")
	expect(alice, routine.AutomationID, "Routine not found")
	expect(task.Caller{ID: "root", Scopes: []string{task.AdminScope}}, r.ID, "")
	a.Drain()
	run, err := a.TriggerRoutine(a.ctx(), alice, r.ID)
	if err != nil || run.Status != routine.StatusRunning || *run.UserID != "alice" || run.RunID == "" {
		t.Errorf("%+v %v", run, err)
	}
	if again, err := a.TriggerRoutine(a.ctx(), alice, r.ID); err != nil || again.Status != routine.StatusSkipped {
		t.Errorf("%+v %v", again, err)
	}
	_, err = a.PauseRoutine(a.ctx(), r.ID)
	a.must(err)
	expect(alice, r.ID, "Routine is paused")
	a.must(a.ArchiveProduct(a.ctx(), a.ProductID))
	expect(alice, r.ID, "Product not found")
	a.Config.Work = nil
	expect(alice, r.ID, "Scheduler is not running")
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
