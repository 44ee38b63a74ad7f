package app_test

import (
	"errors"
	"testing"
	"time"

	"companyos/shared/app"
	"companyos/shared/app/apptest"
	"companyos/shared/company"
	"companyos/shared/routine"
	"companyos/shared/store"
	"companyos/shared/task"
)

// TestPolicyChangedBetweenAcceptanceAndStart: the Task goes back to Backlog, and its proposals need a person then.
func TestPolicyChangedBetweenAcceptanceAndStart(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		with func(a *auto, r routine.Routine)
		want string
	}{
		"changed": {func(a *auto, r routine.Routine) { a.edit(r, policyEdit(a.policy(7))) }, routine.ReasonRevoked},
		"taken":   {func(a *auto, r routine.Routine) { a.edit(r, policyEdit(nil)) }, routine.ReasonRevoked},
		"paused":  {func(a *auto, r routine.Routine) { _, err := a.PauseRoutine(a.ctx(), r.ID); a.must(err) }, routine.ReasonRevoked},
		"expired": {func(a *auto, _ routine.Routine) { a.offset = 48 * time.Hour }, routine.ReasonExpired},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAuto(t)
			r := a.newRoutine("intake", a.policy(5))
			tk := a.propose(r, "k")
			// Accepted, but not started: no run may wait.
			a.Config.MaxPending = 0
			if o := outcome(a.tick(), tk.ID); o.Status != app.OutcomeFailed || o.Reason != "Job queue is full" {
				t.Fatalf("%+v", o)
			}
			if got := a.TaskNow(tk.ID); got.Status != task.StatusReady {
				t.Fatalf("the Task is %s", got.Status)
			}
			a.Config.MaxPending = 10
			c.with(a, r)
			if o := outcome(a.tick(), tk.ID); o.Status != app.OutcomeSkipped || o.Reason != c.want {
				t.Errorf("%+v", o)
			}
			got := a.TaskNow(tk.ID)
			if last := got.Transitions[len(got.Transitions)-1]; got.Status != task.StatusBacklog || last.Reason != c.want || last.UserID != nil || got.ExecutorID != nil {
				t.Errorf("%s %+v", got.Status, last)
			}
			if n := a.count("SELECT count(*) FROM streaks WHERE active"); n != 0 {
				t.Error("the streak goes on")
			}
			a.offset = 0
			a.edit(r, policyEdit(a.policy(8)))
			if r, err := a.Routine(a.ctx(), r.ID); err == nil && !r.Enabled {
				_, err = a.ResumeRoutine(a.ctx(), apptest.Alice(), r.ID)
				a.must(err)
			}
			if got := a.tick(); len(got.Tasks) != 0 {
				t.Errorf("it was accepted again without a person: %+v", got)
			}
			a.Check()
		})
	}
}

// TestPolicyRevokedBeforeTheWorkBegins: the run was reserved and nobody has begun it.
func TestPolicyRevokedBeforeTheWorkBegins(t *testing.T) {
	t.Parallel()
	a := newAuto(t)
	r := a.newRoutine("intake", a.policy(5))
	tk := a.propose(r, "k")
	if o := outcome(a.tick(), tk.ID); o.Action != "submitted" {
		t.Fatalf("%+v", o)
	}
	a.edit(r, policyEdit(nil))
	a.Drain()
	run := a.RunNow(task.RunID(tk.ID, 1))
	if run.State != task.StateError || run.Content != routine.ReasonRevoked {
		t.Errorf("%s %q", run.State, run.Content)
	}
	if got := a.TaskNow(tk.ID); got.Status != task.StatusInProgress || got.Result.Status != task.ResultError || got.Result.Content != routine.ReasonRevoked {
		t.Errorf("%s %+v", got.Status, got.Result)
	}
	a.Check()
}

// TestDispatchOfAPersonsAcceptance: by the rights of whoever accepted, as far as they are held still.
func TestDispatchOfAPersonsAcceptance(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		with     func(a *auto, tk task.Task)
		status   app.OutcomeStatus
		reason   string
		withdraw bool
	}{
		"held": {func(*auto, task.Task) {}, "PENDING", "", false},
		"lost the run permission": {func(a *auto, _ task.Task) {
			a.rights = app.Rights{Known: true, Scopes: []string{"tasks:write", "wiki:read"}}
		}, app.OutcomeFailed, "Insufficient permissions. Required scope(s): workflows:run", true},
		"lost a scope": {func(a *auto, _ task.Task) {
			a.rights = app.Rights{Known: true, Scopes: []string{"tasks:write", "workflows:run"}}
		}, app.OutcomeFailed, "Insufficient permissions. Required scope(s): tasks:write, wiki:read", true},
		"disabled":     {func(a *auto, _ task.Task) { a.rights = app.Rights{Known: true, Disabled: true} }, app.OutcomeFailed, "Insufficient permissions. Required scope(s): workflows:run", true},
		"nobody knows": {func(a *auto, _ task.Task) { a.rightsErr = errors.New("away") }, app.OutcomeFailed, routine.ReasonNoDirectory, false},
		"no saved rights": {func(a *auto, tk task.Task) {
			a.exec("UPDATE tasks SET transitions = jsonb_build_array((transitions -> 0) - 'authority') WHERE id = $1", tk.ID)
		}, app.OutcomeFailed, routine.ReasonFreshNeeded, false},
		"rights of nobody": {func(a *auto, tk task.Task) {
			a.exec(`UPDATE tasks SET transitions = jsonb_build_array((transitions -> 0) || '{"authority": {"principal_id": "", "scopes": null, "issued_at": 0}}') WHERE id = $1`, tk.ID)
		}, app.OutcomeFailed, routine.ReasonNoCaller, true},
		"the executor is gone": {func(a *auto, _ task.Task) {
			a.Executors.Replace(a.Executors.Registry().Without(task.ExecutorWorkflow, apptest.Notes))
		}, app.OutcomeFailed, "Task executor is missing from the registry", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAuto(t)
			tk := a.NewTask(task.ExecutorWorkflow, apptest.Notes)
			c.with(a, tk)
			o := outcome(a.tick(), tk.ID)
			if o.Status != c.status || o.Reason != c.reason {
				t.Errorf("%+v", o)
			}
			got := a.TaskNow(tk.ID)
			if (got.Status == task.StatusBacklog) != c.withdraw {
				t.Errorf("the Task is %s", got.Status)
			}
			if want := c.status == app.OutcomeFailed; (a.failures() == 1) != want {
				t.Errorf("%d failures in attention", a.failures())
			}
		})
	}
}

func (a *auto) failures() int {
	a.T.Helper()
	got, err := a.Attention(a.ctx(), a.ProductID, store.Page{Limit: 20, Number: 1})
	a.must(err)
	return len(got.AutomationFailures)
}

// TestStreak: one row for one Task and reason, with its count; any change of the Task hides it at once.
func TestStreak(t *testing.T) {
	t.Parallel()
	a := newAuto(t)
	tk := a.NewTask(task.ExecutorWorkflow, apptest.Notes)
	registry := a.Executors.Registry()
	a.Executors.Replace(registry.Without(task.ExecutorWorkflow, apptest.Notes))
	for range 12 {
		a.tick()
	}
	got, err := a.Attention(a.ctx(), a.ProductID, store.Page{Limit: 20, Number: 1})
	a.must(err)
	if len(got.AutomationFailures) != 1 || got.AutomationFailures[0].Count != 12 || got.Failed != 1 || a.count("SELECT count(*) FROM streaks") != 1 {
		t.Errorf("%+v", got)
	}
	if len(got.Items) != 1 || got.Items[0].Cause != company.CauseAutomation || got.Items[0].TaskID != tk.ID || got.Items[0].Settle.Path != "/company/tasks/"+tk.ID+"/transitions" {
		t.Errorf("%+v", got.Items)
	}
	if other, err := a.Attention(a.ctx(), "none", store.Page{Limit: 20, Number: 1}); err != nil || len(other.AutomationFailures) != 0 || len(other.Items) != 0 {
		t.Errorf("another Product: %+v %v", other, err)
	}
	_, err = a.MoveTask(a.ctx(), tk.ID, task.Move{Target: task.StatusBacklog, Reason: "wait", By: apptest.Alice()})
	a.must(err)
	if a.failures() != 0 {
		t.Error("the change did not end it")
	}
	a.Executors.Replace(registry)
	a.Accept(tk.ID, task.ExecutorWorkflow, apptest.Notes)
	a.Executors.Replace(registry.Without(task.ExecutorWorkflow, apptest.Notes))
	a.tick()
	if got, _ := a.Attention(a.ctx(), "", store.Page{Limit: 20, Number: 1}); len(got.AutomationFailures) != 1 || got.AutomationFailures[0].Count != 1 {
		t.Errorf("a new streak: %+v", got.AutomationFailures)
	}
	// Another reason is another streak.
	a.exec("UPDATE tasks SET transitions = jsonb_set(transitions, '{2}', (transitions -> 2) - 'authority') WHERE id = $1", tk.ID)
	a.tick()
	if got, _ := a.Attention(a.ctx(), "", store.Page{Limit: 20, Number: 1}); len(got.AutomationFailures) != 1 || got.AutomationFailures[0].Reason != routine.ReasonFreshNeeded {
		t.Errorf("another reason: %+v", got.AutomationFailures)
	}
	if n := a.count("SELECT count(*) FROM streaks WHERE active"); n != 1 {
		t.Errorf("%d active streaks", n)
	}
	if n := a.count("SELECT count(*) FROM automation_runs"); n != 0 {
		t.Errorf("%d lines of history for Tasks that failed", n)
	}
}
