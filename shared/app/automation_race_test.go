package app_test

import (
	"context"
	"testing"

	"companyos/shared/app"
	"companyos/shared/app/apptest"
	"companyos/shared/task"
)

// TestTickRaces: what somebody else did to a Task while a tick was on its way is skipped, and says so.
func TestTickRaces(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		want string
		with func(a *auto) string // returns the Task
	}{
		"archived after the tick found it": {"Task was deleted", func(a *auto) string {
			r := a.newRoutine("intake", a.policy(5, "first"))
			a.propose(r, "k1")
			second := a.propose(r, "k2")
			a.onCheck = func() { a.onCheck = nil; a.must(a.ArchiveTask(a.ctx(), second.ID)) }
			return second.ID
		}},
		"taken back before its start": {"Task acceptance changed before automatic dispatch", func(a *auto) string {
			tk := a.NewTask(task.ExecutorWorkflow, apptest.Notes)
			a.Config.Rights = func(context.Context, task.Authorization) (app.Rights, error) {
				a.Config.Rights = nil
				_, err := a.MoveTask(a.ctx(), tk.ID, task.Move{Target: task.StatusBacklog, Reason: "wait", By: apptest.Alice()})
				return app.Rights{}, err
			}
			return tk.ID
		}},
		"accepted again while its run is being stopped": {"The previous Task run is still active", func(a *auto) string {
			tk := a.NewTask(task.ExecutorAgent, apptest.Engineer)
			a.Start(tk.ID, 1)
			a.Drain()
			a.must(a.Supervise(a.Fleet.Boxes()[0]).Claim(a.ctx()))
			_, err := a.MoveTask(a.ctx(), tk.ID, task.Move{Target: task.StatusBacklog, Reason: "wait", By: apptest.Alice()})
			a.must(err)
			a.Accept(tk.ID, task.ExecutorAgent, apptest.Engineer)
			return tk.ID
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAuto(t)
			id := c.with(a)
			if o := outcome(a.tick(), id); o.Status != app.OutcomeSkipped || o.Reason != c.want {
				t.Errorf("%+v", o)
			}
			a.Check()
		})
	}
}

// TestDisabledOwner: nothing new begins in the name of somebody whom the operator disabled. What they began may be read and
// cancelled by others.
func TestDisabledOwner(t *testing.T) {
	t.Parallel()
	a := newAuto(t)
	bob := apptest.Alice()
	bob.ID = "bob"
	tk, other := a.NewTask(task.ExecutorWorkflow, apptest.Notes), a.NewTask(task.ExecutorWorkflow, apptest.Notes)
	run := a.Start(tk.ID, 1)
	a.Config.Rights = func(_ context.Context, granted task.Authorization) (app.Rights, error) {
		return app.Rights{Known: granted.PrincipalID == "alice", Disabled: granted.PrincipalID == "alice"}, nil
	}
	const want = "Schedule owner is disabled"
	if _, err := a.StartRun(a.ctx(), other.ID, task.Start{Attempt: 1, By: bob}); task.KindOf(err) != task.KindForbidden || err.Error() != want {
		t.Errorf("a start: %v", err)
	}
	if got := a.TaskNow(other.ID); got.Status != task.StatusReady || got.JobID != nil {
		t.Errorf("the Task is %s", got.Status)
	}
	if again, err := a.StartRun(a.ctx(), tk.ID, task.Start{Attempt: 1, By: bob}); err != nil || again.RunID != run {
		t.Errorf("a repeat: %+v %v", again, err)
	}
	if err := a.CancelRun(a.ctx(), bob, run); err != nil {
		t.Error(err)
	}
	// Accepted by somebody who may, and owned by somebody who may not.
	_, err := a.MoveTask(a.ctx(), other.ID, task.Move{Target: task.StatusBacklog, Reason: "mine", By: bob})
	a.must(err)
	_, err = a.MoveTask(a.ctx(), other.ID, task.Move{
		Target: task.StatusReady, Reason: "go", Executor: &task.ExecutorRef{Kind: task.ExecutorWorkflow, ID: apptest.Notes}, By: bob,
	})
	a.must(err)
	if o := outcome(a.tick(), other.ID); o.Status != app.OutcomeFailed || o.Reason != want {
		t.Errorf("a tick: %+v", o)
	}
	a.Check()
}
