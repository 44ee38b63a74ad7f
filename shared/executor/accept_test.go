package executor_test

import (
	"errors"
	"testing"

	"companyos/shared/executor"
	"companyos/shared/task"
)

const repositoryURL = "https://github.com/acme/app"

// sandboxed is a sandboxed agent on acme/app with these secrets.
func sandboxed(secrets ...string) executor.Executor {
	return executor.Executor{
		Kind: task.ExecutorAgent, ID: "claude", Harness: executor.HarnessFixture,
		Repository: &executor.Repository{URL: repositoryURL, Branch: "main"},
		Sandbox:    &executor.Sandbox{Secrets: secrets},
	}
}

// rule checks that err is a RuleError with this text, a code and a remedy; the empty text is no error.
func rule(t *testing.T, err error, detail string) {
	t.Helper()
	if detail == "" {
		if err != nil {
			t.Errorf("got %v, want no error", err)
		}
		return
	}
	broken, ok := errors.AsType[*executor.RuleError](err)
	if !ok || err.Error() != detail || broken.Detail != detail || broken.Code == "" || broken.Remedy == "" {
		t.Errorf("got %#v, want %q with a code and a remedy", err, detail)
	}
}

func TestMatchSource(t *testing.T) {
	t.Parallel()
	token, other := "GITHUB_READ_TOKEN", "OTHER_TOKEN"
	const (
		missing    = "Sandboxed executor requires a Product git Source matching repository URL https://github.com/acme/app"
		credential = "Sandboxed executor git Source credential_ref must be GITHUB_READ_TOKEN"
		noToken    = "Sandboxed executor requires GITHUB_READ_TOKEN in Sandbox.env for this git Source"
	)
	git := func(id string, credential *string) executor.SourceRef {
		return executor.SourceRef{ID: id, Type: "git", Reference: repositoryURL, CredentialRef: credential}
	}
	withoutRepository := sandboxed()
	withoutRepository.Repository = nil
	plain := executor.Executor{Kind: task.ExecutorAgent, ID: "local"}
	team := executor.Executor{Kind: task.ExecutorTeam, ID: "team", Sandbox: &executor.Sandbox{}}
	for name, test := range map[string]struct {
		ex      executor.Executor
		sources []executor.SourceRef
		winner  string
		detail  string
	}{
		"not sandboxed":      {plain, nil, "", ""},
		"a team never is":    {team, nil, "", ""},
		"no repository":      {withoutRepository, []executor.SourceRef{git("1", nil)}, "", "Sandboxed executor requires repository=Repository(url, branch)"},
		"no Source":          {sandboxed(), nil, "", missing},
		"another type":       {sandboxed(), []executor.SourceRef{{ID: "1", Type: "website", Reference: repositoryURL}}, "", missing},
		"another repository": {sandboxed(), []executor.SourceRef{{ID: "1", Type: "git", Reference: "https://github.com/acme/other"}}, "", missing},
		".git is another":    {sandboxed(), []executor.SourceRef{{ID: "1", Type: "git", Reference: repositoryURL + ".git"}}, "", missing},
		"another case":       {sandboxed(), []executor.SourceRef{{ID: "1", Type: "git", Reference: "https://github.com/Acme/app"}}, "", missing},
		"anonymous":          {sandboxed(), []executor.SourceRef{git("1", nil)}, "1", ""},
		"another credential": {sandboxed(token, other), []executor.SourceRef{git("1", &other)}, "", credential},
		"token, none given":  {sandboxed("ANTHROPIC_API_KEY"), []executor.SourceRef{git("1", &token)}, "", noToken},
		"token given":        {sandboxed(token), []executor.SourceRef{git("1", &token)}, "1", ""},
		"lowest id":          {sandboxed(token), []executor.SourceRef{git("c", nil), git("a", &token), git("b", nil)}, "a", ""},
		"lowest id as text":  {sandboxed(), []executor.SourceRef{git("9", nil), git("10", nil)}, "10", ""},
		"lowest usable id":   {sandboxed(), []executor.SourceRef{git("a", &other), git("b", &token), git("c", nil)}, "c", ""},
		"credential before token": {
			sandboxed(), []executor.SourceRef{git("a", &other), git("b", &token)}, "", noToken,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := executor.MatchSource(test.ex, test.sources)
			rule(t, err, test.detail)
			if got.ID != test.winner {
				t.Errorf("winner %q, want %q", got.ID, test.winner)
			}
		})
	}
}

func TestCheckPin(t *testing.T) {
	t.Parallel()
	const (
		plain     = "Task checkout is already pinned and requires a sandboxed executor; create a new Task"
		elsewhere = "Task checkout is already pinned to another repository or branch; create a new Task"
	)
	pin := &task.Checkout{SourceID: "s", URL: repositoryURL, Branch: "main", Commit: "0123456789abcdef0123456789abcdef01234567"}
	change := func(f func(*executor.Executor)) executor.Executor {
		e := sandboxed()
		f(&e)
		return e
	}
	for name, test := range map[string]struct {
		ex     executor.Executor
		pin    *task.Checkout
		detail string
	}{
		"no pin":         {executor.Executor{Kind: task.ExecutorAgent}, nil, ""},
		"same executor":  {sandboxed(), pin, ""},
		"another agent":  {change(func(e *executor.Executor) { e.ID = "codex" }), pin, ""},
		"plain agent":    {change(func(e *executor.Executor) { e.Sandbox = nil }), pin, plain},
		"workflow":       {executor.Executor{Kind: task.ExecutorWorkflow}, pin, plain},
		"team":           {change(func(e *executor.Executor) { e.Kind = task.ExecutorTeam }), pin, plain},
		"another branch": {change(func(e *executor.Executor) { e.Repository = &executor.Repository{URL: repositoryURL, Branch: "dev"} }), pin, elsewhere},
		"another repository": {change(func(e *executor.Executor) {
			e.Repository = &executor.Repository{URL: repositoryURL + ".git", Branch: "main"}
		}), pin, elsewhere},
		"no repository": {change(func(e *executor.Executor) { e.Repository = nil }), pin, elsewhere},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rule(t, executor.CheckPin(test.ex, test.pin), test.detail)
		})
	}
}

func TestSelect(t *testing.T) {
	t.Parallel()
	r := registry(t)
	const (
		internal = "Manager specialists are internal. Select a registered agent, team or workflow as the Task executor."
		required = "Select a registered agent, team or workflow executor"
		unknown  = "Task executor is missing from the registry"
		tools    = "Company executors cannot hold SchedulerTools"
	)
	for _, test := range []struct {
		kind   task.ExecutorKind
		id     string
		detail string
	}{
		{task.ExecutorAgent, "local-agent", ""},
		{task.ExecutorTeam, "local-team", ""},
		{task.ExecutorWorkflow, "local-workflow", ""},
		{task.ExecutorAgent, "remote-agent", ""},
		{task.ExecutorAgent, "platform-builder-internal", internal},
		{task.ExecutorAgent, "platform-manager-internal", internal},
		{task.ExecutorTeam, "platform-builder-internal", internal},
		{task.ExecutorAgent, "company-manager-internal", required},
		{task.ExecutorAgent, "os-manager-internal", required},
		{"engineering", "local-agent", required},
		{"", "", required},
		{task.ExecutorAgent, "", required},
		{task.ExecutorAgent, "ghost", unknown},
		{task.ExecutorTeam, "local-agent", unknown},
		{task.ExecutorAgent, "sched-agent", tools},
		{task.ExecutorTeam, "sched-led", tools},
		{task.ExecutorTeam, "sched-member", tools},
	} {
		got, err := r.Select(test.kind, test.id)
		rule(t, err, test.detail)
		if want := test.id; err == nil && got.ID != want || err != nil && got.ID != "" {
			t.Errorf("%s %s: got %q", test.kind, test.id, got.ID)
		}
	}
	for id, want := range map[string]bool{
		"platform-builder-internal": true, "platform-manager-internal": true, "company-manager-internal": true,
		"os-manager-internal": true, "engineer": false, "": false,
	} {
		if got := executor.Reserved(id); got != want {
			t.Errorf("Reserved(%q) = %t", id, got)
		}
	}
	if !executor.Specialist("platform-manager-internal") || executor.Specialist(executor.ManagerCompany) {
		t.Error("a specialist is one of the two, a manager is none")
	}
}

func TestCheckStart(t *testing.T) {
	t.Parallel()
	r := registry(t)
	for id, detail := range map[string]string{
		"local-agent":  "",
		"remote-agent": "Task execution requires a local executor supported by the durable queue",
		"engineer":     "The agent engineer cannot run yet: this deployment does not run the harness claude",
	} {
		e, _ := r.Agent(id)
		rule(t, executor.CheckStart(e), detail)
	}
}

func TestCheckDatabase(t *testing.T) {
	t.Parallel()
	own, second := executor.Executor{}, executor.Executor{DatabaseID: "db2"}
	none := executor.Executor{NoDatabase: true}
	const other = "A Task session must stay in its original executor database"
	for _, test := range []struct {
		ex       executor.Executor
		started  bool
		original string
		detail   string
	}{
		{own, false, "", ""},
		{own, true, "", ""},
		{own, true, "db2", other},
		{second, false, "", ""},
		{second, true, "", other},
		{second, true, "db2", ""},
		{none, false, "", "Task executor requires a database for durable runs"},
		{none, true, "db2", "Task executor requires a database for durable runs"},
	} {
		rule(t, executor.CheckDatabase(test.ex, test.started, test.original), test.detail)
	}
}
