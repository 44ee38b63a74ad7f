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
	"companyos/shared/store"
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
	a.Config.ReadSource = func(_ context.Context, s company.Source) ([]app.Evidence, error) {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.readErr != nil {
			return nil, a.readErr
		}
		var out []app.Evidence
		for l, h := range a.documents {
			out = append(out, app.Evidence{Link: l, ContentHash: h})
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
