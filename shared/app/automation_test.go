package app_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"companyos/shared/app"
	"companyos/shared/app/apptest"
	"companyos/shared/company"
	"companyos/shared/routine"
	"companyos/shared/task"
)

// auto is a Company with one Routine that proposes, and a Source that says what a test wants.
type auto struct {
	*apptest.Bench
	mu        sync.Mutex
	documents map[string]string // hash by link
	readErr   error
	rights    app.Rights
	rightsErr error
	passes    map[string]bool // of the checks "first" and "second"
	onCheck   func()
	offset    time.Duration // of the clock
}

const link = "file:///docs/note.md"

var hash = fmt.Sprintf("%064x", 7)

func newAuto(t *testing.T) *auto {
	t.Helper()
	a := &auto{Bench: apptest.New(t, 2), documents: map[string]string{link: hash}, passes: map[string]bool{"first": true, "second": true}}
	a.Config.Clock = func() time.Time { a.mu.Lock(); defer a.mu.Unlock(); return time.Now().Add(a.offset) }
	a.Config.Rights = func(context.Context, task.Authorization) (app.Rights, error) {
		a.mu.Lock()
		defer a.mu.Unlock()
		return a.rights, a.rightsErr
	}
	a.Config.ReadSource = func(_ context.Context, s company.Source) ([]company.Document, error) {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.readErr != nil {
			return nil, a.readErr
		}
		var out []company.Document
		for l, h := range a.documents {
			out = append(out, company.Document{Link: l, ContentHash: h})
		}
		return out, nil
	}
	check := func(name string) app.Check {
		return func(context.Context, app.CheckedProposal) (bool, error) {
			if name == "first" && a.onCheck != nil {
				a.onCheck()
			}
			return a.passes[name], nil
		}
	}
	a.Config.Checks = map[string]app.Check{"first": check("first"), "second": check("second")}
	return a
}

func (a *auto) ctx() context.Context { return a.T.Context() }

func (a *auto) policy(most int64, checks ...string) *routine.Policy {
	if checks == nil {
		checks = []string{routine.CheckRegistered}
	}
	return &routine.Policy{
		ExecutorType: task.ExecutorWorkflow, ExecutorID: apptest.Notes, RequiredChecks: checks,
		Limits: routine.Limits{ExpiresAt: time.Now().Add(24 * time.Hour).Unix(), MaxAcceptances: most},
	}
}

func (a *auto) newRoutine(name string, p *routine.Policy) routine.Routine {
	a.T.Helper()
	template := routine.TemplateIntake
	r, err := a.CreateRoutine(a.ctx(), apptest.Alice(), app.RoutineInput{
		ProductID: a.ProductID, Name: name, Template: &template, ExecutorType: task.ExecutorWorkflow, ExecutorID: apptest.Notes, Policy: p,
	})
	if err != nil {
		a.T.Fatal(err)
	}
	return r
}

func (a *auto) propose(r routine.Routine, key string) task.Task {
	a.T.Helper()
	t, err := a.Intake(a.ctx(), r.ID, a.ProductID, "run-1", app.Proposal{
		SourceID: a.SourceID, ProjectID: a.ProjectID, Title: key, Key: key, Links: []string{link}, Hashes: map[string]string{link: hash},
	})
	if err != nil {
		a.T.Fatal(err)
	}
	return t.Task
}

func (a *auto) edit(r routine.Routine, e app.RoutineEdit) {
	a.T.Helper()
	if _, err := a.EditRoutine(a.ctx(), apptest.Alice(), r.ID, e); err != nil {
		a.T.Fatal(err)
	}
}

func (a *auto) tick() app.Tick {
	a.T.Helper()
	t, err := a.Tick(a.ctx())
	if err != nil {
		a.T.Fatal(err)
	}
	return t
}

func (a *auto) exec(sql string, args ...any) {
	a.T.Helper()
	if _, err := a.DB.Pool().Exec(a.ctx(), sql, args...); err != nil {
		a.T.Fatal(err)
	}
}

func (a *auto) count(sql string, args ...any) (n int64) {
	a.T.Helper()
	if err := a.DB.Pool().QueryRow(a.ctx(), sql, args...).Scan(&n); err != nil {
		a.T.Fatal(err)
	}
	return n
}

// outcome is what a tick did with a Task in the end.
func outcome(t app.Tick, taskID string) app.TickOutcome {
	var last app.TickOutcome
	for _, o := range t.Tasks {
		if o.TaskID == taskID {
			last = o
		}
	}
	return last
}

func set[T any](v T) task.Opt[T] { return task.Opt[T]{Set: true, Value: &v} }

func policyEdit(p *routine.Policy) app.RoutineEdit {
	return app.RoutineEdit{Policy: set(app.PolicyEdit{Policy: p})}
}

// TestTickAcceptsAndStarts is the good way, and that the oldest proposal spends the budget first.
func TestTickAcceptsAndStarts(t *testing.T) {
	t.Parallel()
	a := newAuto(t)
	r := a.newRoutine("intake", a.policy(1, routine.CheckRegistered, "first", routine.CheckEvidence))
	older, newer := a.propose(r, "k1"), a.propose(r, "k2")
	if again := a.propose(r, "k1"); again.ID != older.ID {
		t.Fatal("one key made two Tasks")
	}
	got := a.tick()
	if o := outcome(got, older.ID); o.Action != "submitted" || o.Status != "PENDING" || o.RunID != task.RunID(older.ID, 1) {
		t.Errorf("the older: %+v", o)
	}
	if o := outcome(got, newer.ID); o.Status != app.OutcomeSkipped || o.Reason != routine.ReasonLimit {
		t.Errorf("the newer: %+v", o)
	}
	a.Drain()
	done := a.TaskNow(older.ID)
	if done.Status != task.StatusInReview || *done.AcceptedBy != "alice" {
		t.Errorf("%s %v", done.Status, done.AcceptedBy)
	}
	e := done.Transitions[0]
	if e.Reason != routine.EntryAccepted || *e.UserID != "alice" || e.AutoAccept.RoutineID != r.ID || e.AutoAccept.Policy != r.Policy.Fingerprint() || e.AutoAccept.MaxAcceptances != 1 {
		t.Errorf("%+v", e)
	}
	if e := done.Transitions[1]; *e.StartedBy != "alice" || e.SessionUserID != nil {
		t.Errorf("%+v", e)
	}
	// A new policy is a new budget.
	a.edit(r, policyEdit(a.policy(2)))
	if o := outcome(a.tick(), newer.ID); o.Action != "submitted" {
		t.Errorf("under the new policy: %+v", o)
	}
	a.Check()
}

// TestRefusals breaks one thing for a proposal and expects the contract's reason, in the outcome and nowhere else.
func TestRefusals(t *testing.T) {
	t.Parallel()
	all := []string{routine.CheckRegistered, routine.CheckActive, routine.CheckEvidence, "first", "second"}
	for name, c := range map[string]struct {
		with   func(a *auto, r routine.Routine, tk task.Task)
		want   string
		failed bool
	}{
		"a Project that is not active": {func(*auto, routine.Routine, task.Task) {}, routine.ReasonCheckFailed + routine.CheckActive, false},
		"evidence changed": {func(a *auto, _ routine.Routine, _ task.Task) {
			a.activate()
			a.documents[link] = fmt.Sprintf("%064x", 8)
		}, routine.ReasonCheckFailed + routine.CheckEvidence, false},
		"evidence gone": {func(a *auto, _ routine.Routine, _ task.Task) { a.activate(); delete(a.documents, link) }, routine.ReasonCheckFailed + routine.CheckEvidence, false},
		"the Source removed": {func(a *auto, _ routine.Routine, _ task.Task) {
			a.activate()
			a.must(a.ArchiveSource(a.ctx(), a.SourceID))
		}, routine.ReasonCheckFailed + routine.CheckEvidence, false},
		"the Source unreadable": {func(a *auto, _ routine.Routine, _ task.Task) {
			a.activate()
			a.readErr = task.Unavailable("x", "The Source does not answer", nil)
		}, "The Source does not answer", true},
		"a check says no": {func(a *auto, _ routine.Routine, _ task.Task) { a.activate(); a.passes["second"] = false }, routine.ReasonCheckFailed + "second", false},
		"the check is gone": {func(a *auto, _ routine.Routine, _ task.Task) {
			a.activate()
			delete(a.Config.Checks, "second")
		}, routine.ReasonUnknownCheck, false},
		"the author is disabled":  {func(a *auto, _ routine.Routine, _ task.Task) { a.rights = app.Rights{Known: true, Disabled: true} }, routine.ReasonDisabledAuthor, false},
		"nobody knows the author": {func(a *auto, _ routine.Routine, _ task.Task) { a.rightsErr = errors.New("away") }, routine.ReasonNoDirectory, false},
		"the author lost a scope": {func(a *auto, _ routine.Routine, _ task.Task) {
			a.rights = app.Rights{Known: true, Scopes: []string{"tasks:write", "wiki:read", "workflows:run"}}
		}, "Insufficient permissions. Required scope(s): schedules:write, tasks:write, wiki:read", false},
		"the author lost the permit": {func(a *auto, _ routine.Routine, _ task.Task) {
			a.rights = app.Rights{Known: true, Scopes: []string{"schedules:write", "tasks:write", "wiki:read"}}
		}, "Insufficient permissions. Required scope(s): workflows:run", false},
		"the executor is gone": {func(a *auto, _ routine.Routine, _ task.Task) {
			a.Executors.Replace(a.Executors.Registry().Without(task.ExecutorWorkflow, apptest.Notes))
		}, "Task executor is missing from the registry", true},
		"no grant": {func(a *auto, r routine.Routine, _ task.Task) {
			a.exec("UPDATE routines SET granted_by = NULL WHERE id = $1", r.ID)
		}, routine.ReasonNoAuthority, false},
		"a machine's grant": {func(a *auto, r routine.Routine, _ task.Task) {
			a.exec(`UPDATE routines SET granted_by = '{"principal_id": "sa:x", "scopes": ["agent_os:admin"]}' WHERE id = $1`, r.ID)
		}, routine.ReasonNotHuman, false},
		"another executor proposed": {func(a *auto, _ routine.Routine, tk task.Task) {
			_, err := a.EditTask(a.ctx(), tk.ID, app.TaskEdit{ExecutorType: set(task.ExecutorAgent), ExecutorID: set(apptest.Engineer)})
			a.must(err)
		}, routine.ReasonOtherExecutor, false},
		"policy changed during checks": {func(a *auto, r routine.Routine, _ task.Task) {
			a.activate()
			a.onCheck = func() { a.onCheck = nil; a.edit(r, policyEdit(a.policy(9, all...))) }
		}, routine.ReasonChanged, false},
		"paused during checks": {func(a *auto, r routine.Routine, _ task.Task) {
			a.activate()
			a.onCheck = func() {
				a.onCheck = nil
				_, err := a.PauseRoutine(a.ctx(), r.ID)
				a.must(err)
			}
		}, routine.ReasonChanged, false},
		"expired during checks": {func(a *auto, _ routine.Routine, _ task.Task) {
			a.activate()
			a.onCheck = func() { a.mu.Lock(); defer a.mu.Unlock(); a.onCheck, a.offset = nil, 48*time.Hour }
		}, routine.ReasonExpiredDuring, false},
		"the Task changed during checks": {func(a *auto, _ routine.Routine, tk task.Task) {
			a.activate()
			a.onCheck = func() {
				a.onCheck = nil
				_, err := a.EditTask(a.ctx(), tk.ID, app.TaskEdit{Title: set("another")})
				a.must(err)
			}
		}, routine.ReasonTaskChanged, false},
		"the budget was spent during checks": {func(a *auto, r routine.Routine, _ task.Task) {
			a.activate()
			a.onCheck = func() {
				a.onCheck = nil
				for n := range r.Policy.Limits.MaxAcceptances {
					a.exec("INSERT INTO acceptances VALUES ($1, $2, $3, now())", r.ID, r.Policy.Fingerprint(), fmt.Sprint("other", n))
				}
			}
		}, routine.ReasonLimit, false},
		"the author disabled during checks": {func(a *auto, _ routine.Routine, _ task.Task) {
			a.activate()
			a.onCheck = func() {
				a.mu.Lock()
				defer a.mu.Unlock()
				a.onCheck, a.rights = nil, app.Rights{Known: true, Disabled: true}
			}
		}, routine.ReasonDisabledAuthor, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAuto(t)
			r := a.newRoutine("intake", a.policy(5, all...))
			tk := a.propose(r, "k")
			c.with(a, r, tk)
			got := a.tick()
			o := outcome(got, tk.ID)
			if o.Reason != c.want || (o.Status == app.OutcomeFailed) != c.failed {
				t.Errorf("got %+v, want %q", o, c.want)
			}
			if now := a.TaskNow(tk.ID); now.Status != task.StatusBacklog || len(now.Transitions) != 0 {
				t.Errorf("the Task is %s", now.Status)
			}
			if n := a.count("SELECT count(*) FROM automation_runs"); n != 0 {
				t.Errorf("%d lines of history for nothing", n)
			}
			if n, want := a.count("SELECT count(*) FROM streaks WHERE active"), int64(0); (n != want) != c.failed {
				t.Errorf("%d streaks", n)
			}
			a.onCheck = nil
			a.Check()
		})
	}
}

func (a *auto) activate() {
	a.T.Helper()
	_, err := a.MoveProject(a.ctx(), apptest.Alice(), a.ProjectID, company.ProjectActive, "go")
	a.must(err)
}

func (a *auto) must(err error) {
	a.T.Helper()
	if err != nil {
		a.T.Fatal(err)
	}
}
