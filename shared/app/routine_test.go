package app_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"companyos/shared/app"
	"companyos/shared/app/apptest"
	"companyos/shared/company"
	"companyos/shared/executor"
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
		"the rights gone": {func(a *auto) { a.rights = app.Rights{Known: true, Scopes: []string{"tasks:read"}} }, "Insufficient permissions. Required scope(s): workflows:run", false},
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

// TestGrantRefusals: who may grant a policy, and which.
func TestGrantRefusals(t *testing.T) {
	t.Parallel()
	a := newAuto(t)
	full := append([]string{"workflows:run"}, (&routine.Policy{CompleteProjects: true}).GrantScopes()...)
	without := func(scope string) []string {
		return slices.DeleteFunc(slices.Clone(full), func(s string) bool { return s == scope })
	}
	for name, c := range map[string]struct {
		by   task.Caller
		with func(p *routine.Policy)
		want string
	}{
		"good":           {task.Caller{ID: "alice", Scopes: full}, func(*routine.Policy) {}, ""},
		"a machine":      {task.Caller{ID: "sa:x", Scopes: full}, func(*routine.Policy) {}, "Only a human may authorize automatic acceptance"},
		"the scheduler":  {task.Caller{ID: "__scheduler__", Scopes: full}, func(*routine.Policy) {}, "Only a human may authorize automatic acceptance"},
		"no tasks:write": {task.Caller{ID: "alice", Scopes: without("tasks:write")}, func(*routine.Policy) {}, "Insufficient permissions. Required scope(s): schedules:write, tasks:write, wiki:read"},
		"no projects:write": {
			task.Caller{ID: "alice", Scopes: without("projects:write")},
			func(p *routine.Policy) { p.CompleteProjects = true },
			"Insufficient permissions. Required scope(s): schedules:write, tasks:write, wiki:read, projects:write",
		},
		"no run permission": {task.Caller{ID: "alice", Scopes: without("workflows:run")}, func(*routine.Policy) {}, "Insufficient permissions. Required scope(s): workflows:run"},
		"expired":           {task.Caller{ID: "alice", Scopes: full}, func(p *routine.Policy) { p.Limits.ExpiresAt = 1 }, "Automatic acceptance expiry must be in the future"},
		"unknown check":     {task.Caller{ID: "alice", Scopes: full}, func(p *routine.Policy) { p.RequiredChecks = []string{"nope"} }, routine.ReasonUnknownCheck},
		"unknown executor":  {task.Caller{ID: "alice", Scopes: full}, func(p *routine.Policy) { p.ExecutorID = "ghost" }, "Task executor is missing from the registry"},
		"the manager":       {task.Caller{ID: "alice", Scopes: full}, func(p *routine.Policy) { p.ExecutorType, p.ExecutorID = task.ExecutorAgent, executor.ManagerCompany }, "Select a registered agent, team or workflow executor"},
	} {
		p := a.policy(1)
		c.with(p)
		template := routine.TemplateIntake
		_, err := a.CreateRoutine(a.ctx(), c.by, app.RoutineInput{
			ProductID: a.ProductID, Name: strings.ReplaceAll(name, ":", ""), Template: &template, ExecutorType: task.ExecutorWorkflow, ExecutorID: apptest.Notes, Policy: p,
		})
		if got := errText(err); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestEditReplacesTheRights: whoever changes what a Routine does answers for it; its name and time are anybody's.
func TestEditReplacesTheRights(t *testing.T) {
	t.Parallel()
	a := newAuto(t)
	r := a.newRoutine("intake", a.policy(2))
	bob := task.Caller{ID: "bob", Scopes: append([]string{"workflows:run"}, r.Policy.GrantScopes()...)}
	change := func(by task.Caller, e app.RoutineEdit) (routine.Routine, error) {
		return a.EditRoutine(a.ctx(), by, r.ID, e)
	}
	renamed, err := change(task.Caller{ID: "carol"}, app.RoutineEdit{Name: set("renamed"), CronExpr: set("0 9 * * 1"), Timezone: set("Europe/Paris")})
	if err != nil || renamed.Authority.PrincipalID != "alice" || renamed.Grant.PrincipalID != "alice" || renamed.NextRunAt == nil {
		t.Errorf("%+v %v", renamed, err)
	}
	if _, err := change(task.Caller{ID: "carol"}, app.RoutineEdit{Instructions: set("more")}); task.KindOf(err) != task.KindForbidden {
		t.Errorf("carol: %v", err)
	}
	edited, err := change(bob, app.RoutineEdit{Instructions: set("more")})
	if err != nil || edited.Authority.PrincipalID != "bob" || edited.Grant.PrincipalID != "bob" || edited.UserID != "alice" {
		t.Errorf("%+v %v", edited, err)
	}
	off, err := change(bob, policyEdit(nil))
	if err != nil || off.Policy != nil || off.Grant != nil {
		t.Errorf("%+v %v", off, err)
	}
	if same, err := change(task.Caller{ID: "carol"}, app.RoutineEdit{}); err != nil || same.Revision != off.Revision {
		t.Errorf("an edit of nothing: %+v %v", same, err)
	}
	p, err := a.Product(a.ctx(), a.ProductID, false)
	if err != nil || string(p.Metadata[company.MetadataRoutineIDs]) != fmt.Sprintf("[%q]", r.ID) {
		t.Errorf("%s %v", p.Metadata[company.MetadataRoutineIDs], err)
	}
}

// TestToolsAreConfined: what a run's tools may do is what the run was given, as far as it is held still; a tool that
// failed fails the run.
func TestToolsAreConfined(t *testing.T) {
	t.Parallel()
	a := newAuto(t)
	r := a.scheduled("*/5 * * * *")
	by := task.Caller{ID: "alice", Scopes: []string{"workflows:run", "tasks:write", "sources:read", "projects:write", "wiki:read", "wiki:write"}}
	use := func(f func(ctx context.Context, tools *app.RoutineTools) error) routine.Run {
		t.Helper()
		a.Runner = func(ctx context.Context, job app.Job) task.Outcome {
			_ = f(ctx, job.Routine)
			return task.OutcomeOf(task.EndCompleted, "said it went well")
		}
		_, err := a.TriggerRoutine(a.ctx(), by, r.ID)
		a.must(err)
		a.Drain()
		return a.runs(r)[0]
	}
	var project company.Project
	good := use(func(ctx context.Context, tools *app.RoutineTools) (err error) {
		for range 2 {
			if project, err = tools.ProposeProject(ctx, "Launch", nil); err != nil {
				return err
			}
		}
		_, err = tools.Propose(ctx, app.Proposal{SourceID: a.SourceID, ProjectID: project.ID, Title: "t", Key: "k", Links: []string{link}, Hashes: map[string]string{link: hash}})
		return err
	})
	if good.Status != routine.StatusSuccess || project.ID != routine.ProposedProjectID(a.ProductID, r.ID, "Launch") || project.Status != company.ProjectProposed || project.UserID != nil {
		t.Errorf("%+v %+v", good, project)
	}
	if n := a.count("SELECT count(*) FROM tasks WHERE routine_id = $1 AND user_id IS NULL AND status = 'backlog'", r.ID); n != 1 {
		t.Errorf("%d proposals", n)
	}
	other, err := a.CreateProduct(a.ctx(), apptest.Alice(), app.ProductInput{Name: "Other"})
	a.must(err)
	elsewhere, err := a.CreateProject(a.ctx(), apptest.Alice(), app.ProjectInput{ProductID: other.ID, Name: "Elsewhere"})
	a.must(err)
	foreign, err := a.CreateSource(a.ctx(), apptest.Alice(), company.NewSource{ProductID: other.ID, Type: company.SourceGit, Reference: apptest.Repository})
	a.must(err)
	proposal := app.Proposal{SourceID: a.SourceID, ProjectID: a.ProjectID, Title: "t", Key: "k2", Links: []string{link}, Hashes: map[string]string{link: hash}}
	for name, c := range map[string]struct {
		use  func(ctx context.Context, tools *app.RoutineTools) error
		want string
	}{
		"refresh without the scopes": {
			func(ctx context.Context, tools *app.RoutineTools) error { _, err := tools.Refresh(ctx); return err },
			"Insufficient permissions. Required scope(s): products:read, projects:read, projects:delete, tasks:read, tasks:delete, wiki:read, wiki:write",
		},
		"another Product's Source":  {propose(proposal, func(p *app.Proposal) { p.SourceID = foreign.ID }), "Source not found"},
		"another Product's Project": {propose(proposal, func(p *app.Proposal) { p.ProjectID = elsewhere.ID }), "Task and Project must belong to the same Product"},
		"a link that is not there":  {propose(proposal, func(p *app.Proposal) { p.Links = []string{"file:///x"} }), "The Source does not hold file:///x"},
		"a hash that was not seen":  {propose(proposal, func(p *app.Proposal) { p.Hashes = nil }), "The evidence changed before it was proposed: " + link},
		"no evidence":               {propose(proposal, func(p *app.Proposal) { p.Links = nil }), "A Routine proposal requires evidence"},
		"no key":                    {propose(proposal, func(p *app.Proposal) { p.Key = " " }), "proposal_key must be a non-empty string"},
		"no title":                  {propose(proposal, func(p *app.Proposal) { p.Title = "" }), "title must be a non-empty string"},
		"a stale page": {
			func(ctx context.Context, tools *app.RoutineTools) error {
				return tools.WritePage(ctx, "status.md", "x", 7)
			},
			"version conflict on status.md: expected 7, actual 1",
		},
		"no narrative channel": {
			func(ctx context.Context, tools *app.RoutineTools) error {
				_, err := tools.Summarize(ctx, "x")
				return err
			},
			"Insufficient permissions. Required scope(s): products:read, tasks:read, wiki:read, wiki:write",
		},
	} {
		run := use(c.use)
		if run.Status != routine.StatusFailed || run.Error == nil || *run.Error != c.want {
			t.Errorf("%s: %s %v, want %s", name, run.Status, errOf(run), c.want)
		}
	}
	recovered := use(func(ctx context.Context, tools *app.RoutineTools) error {
		if tools.WritePage(ctx, "status.md", "x", 7) == nil {
			t.Error("a stale version was taken")
		}
		page, err := tools.Page(ctx, "status.md")
		if err != nil {
			return err
		}
		return tools.WritePage(ctx, "status.md", "x", int64(page.Version))
	})
	if recovered.Status != routine.StatusSuccess {
		t.Errorf("recovered: %v", errOf(recovered))
	}
}

func propose(p app.Proposal, with func(*app.Proposal)) func(context.Context, *app.RoutineTools) error {
	with(&p)
	return func(ctx context.Context, tools *app.RoutineTools) error { _, err := tools.Propose(ctx, p); return err }
}

func errOf(r routine.Run) string {
	if r.Error == nil {
		return ""
	}
	return *r.Error
}
