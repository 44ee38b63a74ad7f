package app_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"companyos/shared/app"
	"companyos/shared/app/apptest"
	"companyos/shared/company"
	"companyos/shared/executor"
	"companyos/shared/routine"
	"companyos/shared/task"
)

// TestGrantRefusals: who may grant a policy, and which.
func TestGrantRefusals(t *testing.T) {
	t.Parallel()
	a := newAuto(t)
	withoutDatabase, err := a.Executors.Registry().With(executor.Executor{Kind: task.ExecutorWorkflow, ID: "fleeting", Steps: []string{"collect"}, NoDatabase: true})
	a.must(err)
	a.Executors.Replace(withoutDatabase)
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
		"no database":       {task.Caller{ID: "alice", Scopes: full}, func(p *routine.Policy) { p.ExecutorID = "fleeting" }, "Automatic Task executor requires a database for durable runs"},
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
	own, err := a.CreateTask(a.ctx(), apptest.Alice(), app.TaskInput{ProductID: a.ProductID, ProjectID: a.ProjectID, Title: "own"})
	a.must(err)
	theirs, err := a.CreateTask(a.ctx(), apptest.Alice(), app.TaskInput{ProductID: other.ID, ProjectID: elsewhere.ID, Title: "theirs"})
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
		"accepting":                 {move(own.ID, task.StatusReady), "Routines can propose work but cannot accept or complete it"},
		"completing":                {move(own.ID, task.StatusDone), "Routines can propose work but cannot accept or complete it"},
		"another Product's Task":    {move(theirs.ID, task.StatusCancelled), "Routine authority is restricted to its configured Product"},
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
	if run := use(move(own.ID, task.StatusCancelled)); run.Status != routine.StatusSuccess || a.TaskNow(own.ID).Status != task.StatusCancelled {
		t.Errorf("cancelling a Task: %v, it is %s", errOf(run), a.TaskNow(own.ID).Status)
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

func move(id string, target task.Status) func(context.Context, *app.RoutineTools) error {
	return func(ctx context.Context, tools *app.RoutineTools) error {
		_, err := tools.MoveTask(ctx, id, target, "because")
		return err
	}
}

func errOf(r routine.Run) string {
	if r.Error == nil {
		return ""
	}
	return *r.Error
}
