package executor_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"companyos/shared/executor"
)

// agent is an agent that breaks no rule, with further lines of its mapping.
func agent(lines ...string) string {
	return "agents:\n  - id: a\n    harness: fixture\n" + indent(lines...)
}

func claude(lines ...string) string {
	return "agents:\n  - id: a\n    harness: claude\n    model: claude-sonnet-4-6\n" + indent(lines...)
}

func indent(lines ...string) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString("    " + l + "\n")
	}
	return b.String()
}

// TestProblems has a file, and for each problem its line and words of its rule and remedy.
func TestProblems(t *testing.T) {
	t.Parallel()
	type problem struct {
		line         int
		rule, remedy string
	}
	const repository = "repository: {url: https://github.com/o/r}"
	for name, test := range map[string]struct {
		yaml string
		want []problem
	}{
		"tabs":                 {"agents:\n\t- id: a\n", []problem{{2, "not YAML", "syntax"}}},
		"unclosed":             {"agents: [\n", []problem{{1, "not YAML", "syntax"}}},
		"second document":      {"agents: []\n---\nteams: []\n", []problem{{2, "second YAML document", "first"}}},
		"not a mapping":        {"- a\n", []problem{{1, "the file is not a mapping", "key: value"}}},
		"unknown section":      {"agents: []\nrobots: []\n", []problem{{2, `unknown key "robots" in the file`, "agents, teams, workflows"}}},
		"section not a list":   {"agents: {id: a}\n", []problem{{1, "agents is not a list", "- item"}}},
		"agent not a mapping":  {"agents:\n  - engineer\n", []problem{{2, "an agent is not a mapping", "key: value"}}},
		"unknown agent key":    {agent("modle: x"), []problem{{4, `unknown key "modle" in an agent`, "model"}}},
		"repeated key":         {agent("harness: fixture"), []problem{{4, `key "harness" stands twice`, "line 3"}}},
		"key no text":          {agent("[x]: y"), []problem{{4, "is not a text", "plain word"}}},
		"merge key":            {"agents:\n  - &x {id: a, harness: fixture}\n  - {<<: *x, id: b}\n", []problem{{3, "merges another mapping", "write the keys out"}, {3, `agent "b" has no harness`, "add harness"}}},
		"anchor, once":         {"agents:\n  - &x {id: a, harness: fixture, bad: 1}\n  - *x\n", []problem{{2, `unknown key "bad"`, "id"}, {2, "defined twice", "line 2"}}},
		"no id":                {"agents:\n  - harness: fixture\n", []problem{{2, "this agent has no id", "agent-1"}}},
		"id null":              {"agents:\n  - harness: fixture\n    id:\n", []problem{{3, "id of this agent has no value", "give it one"}}},
		"id a number":          {"agents:\n  - id: 7\n    harness: fixture\n", []problem{{2, "not a text but int", `"7"`}}},
		"id in capitals":       {"agents:\n  - id: Engineer\n    harness: fixture\n", []problem{{2, `id "Engineer" is not allowed`, "a-z"}}},
		"id too long":          {"agents:\n  - id: " + strings.Repeat("a", 64) + "\n    harness: fixture\n", []problem{{2, "is not allowed", "63"}}},
		"id with a newline":    {"agents:\n  - id: \"a\\n\"\n    harness: fixture\n", []problem{{2, "is not allowed", "a-z"}}},
		"id reserved":          {"agents:\n  - id: platform-builder-internal\n    harness: fixture\n", []problem{{2, "is reserved", "another"}}},
		"id of a manager":      {"workflows:\n  - id: company-manager-internal\n    steps: [collect]\n", []problem{{2, "is reserved", "another"}}},
		"id twice":             {agent() + "  - id: b\n    harness: fixture\n  - id: a\n    harness: fixture\n", []problem{{6, `agent "a" is defined twice`, "line 2"}}},
		"name blank":           {agent(`name: " "`), []problem{{4, `name of agent "a" is blank`, "remove"}}},
		"name NUL":             {agent(`name: "a\0"`), []problem{{4, "NUL", "remove"}}},
		"instructions a list":  {agent("instructions: [a]"), []problem{{4, "is not a text", "one text"}}},
		"no harness":           {"agents:\n  - id: a\n", []problem{{2, "has no harness", "claude, codex, model, fixture"}}},
		"unknown harness":      {"agents:\n  - id: a\n    harness: gemini\n", []problem{{3, `harness "gemini"`, "claude, codex, model, fixture"}}},
		"team harness":         {"agents:\n  - id: a\n    harness: team\n    model: m\n", []problem{{3, `harness "team"`, "claude, codex"}}},
		"no model":             {"agents:\n  - id: a\n    harness: model\n", []problem{{2, "has no model", "provider"}}},
		"claude, no model":     {"agents:\n  - id: a\n    harness: claude\n    sandbox: {secrets: [ANTHROPIC_API_KEY]}\n", []problem{{2, "has no model", "provider"}}},
		"claude, no sandbox":   {claude(), []problem{{3, "harness claude and no sandbox", "ANTHROPIC_API_KEY"}}},
		"codex, no sandbox":    {"agents:\n  - id: a\n    harness: codex\n    model: m\n", []problem{{3, "harness codex and no sandbox", "OPENAI_API_KEY"}}},
		"claude, no secrets":   {claude("sandbox: {}"), []problem{{5, "no model key", "ANTHROPIC_API_KEY"}}},
		"claude, null sandbox": {claude("sandbox:"), []problem{{5, "no model key", "ANTHROPIC_API_KEY"}}},
		"claude, another key":  {claude("sandbox:", "  secrets: [OPENAI_API_KEY]"), []problem{{6, "no model key", "ANTHROPIC_API_KEY"}}},
		"codex, another key":   {"agents:\n  - id: a\n    harness: codex\n    model: m\n    sandbox: {secrets: [ANTHROPIC_API_KEY]}\n", []problem{{5, "no model key", "OPENAI_API_KEY"}}},
		"model with sandbox":   {"agents:\n  - id: a\n    harness: model\n    model: m\n    sandbox: {}\n", []problem{{5, "runs without a sandbox", "claude or codex"}}},
		"script of a model":    {"agents:\n  - id: a\n    harness: model\n    model: m\n    fixture: {turns: []}\n", []problem{{5, "fixture script and harness model", "remove it"}}},
		"script not a mapping": {agent("fixture: answer"), []problem{{4, "is not a mapping", "mapping"}}},
		"script not JSON":      {agent("fixture: {x: .nan}"), []problem{{4, "is not valid", "correct"}}},
		"script wrong":         {agent("fixture: {turns: wrong}"), []problem{{4, "turns must be a list", "correct"}}},

		"repository, no sandbox": {agent(repository), []problem{{4, "a repository and no sandbox", "add a sandbox"}}},
		"repository null":        {agent("repository:", "sandbox:"), []problem{{4, "repository of agent \"a\" is not a mapping", "key: value"}}},
		"repository, no url":     {agent("sandbox:", "repository: {branch: main}"), []problem{{5, "has no url", "https://github.com/owner/name"}}},
		"repository key":         {agent("sandbox:", "repository: {url: https://github.com/o/r, commit: x}"), []problem{{5, `unknown key "commit"`, "url, branch"}}},
		"repository url":         {agent("sandbox:", "repository:", "  url: https://user:pw@github.com/o/r"), []problem{{6, "repository.url must be a GitHub HTTPS repository without credentials", "COMPANY_GIT_HOSTS"}}},
		"repository other host":  {agent("sandbox:", "repository: {url: https://gitlab.com/o/r}"), []problem{{5, "repository.url must be", "below https://git.example.com/"}}},
		"repository branch":      {agent("sandbox:", "repository:", "  url: https://github.com/o/r", "  branch: a..b"), []problem{{7, "repository.branch must be a valid Git branch name", "short name"}}},
		"repository branch HEAD": {agent("sandbox:", "repository: {url: https://github.com/o/r, branch: HEAD}"), []problem{{5, "repository.branch must be", "short name"}}},

		"sandbox a list":    {agent("sandbox: [1]"), []problem{{4, "sandbox of agent \"a\" is not a mapping", "key: value"}}},
		"sandbox key":       {agent("sandbox: {gpu: 1}"), []problem{{4, `unknown key "gpu"`, "cpu, memory, disk, secrets, egress, company, limits"}}},
		"company":           {agent("sandbox: {company: maybe}"), []problem{{4, "neither true nor false", "true or false"}}},
		"company list":      {agent("sandbox: {company: [true]}"), []problem{{4, "neither true nor false", "true or false"}}},
		"cpu unknown":       {agent("sandbox:", "  cpu: 1000"), []problem{{5, "no cpu 1000", "256, 512, 1024"}}},
		"cpu a text":        {agent("sandbox: {cpu: \"1024\"}"), []problem{{4, "not a whole number", "digits"}}},
		"cpu zero":          {agent("sandbox: {cpu: 0}"), []problem{{4, "not above zero", "remove"}}},
		"cpu huge":          {agent("sandbox: {cpu: 99999999999999999999}"), []problem{{4, "not a whole number", "digits"}}},
		"memory negative":   {agent("sandbox: {memory: -1}"), []problem{{4, "not above zero", "remove"}}},
		"memory with unit":  {agent("sandbox: {memory: 2GiB}"), []problem{{4, "not a whole number", "digits"}}},
		"pair":              {agent("sandbox:", "  memory: 512", "  cpu: 1024"), []problem{{6, "no cpu 1024 with memory 512", "2048 to 8192"}}},
		"memory alone":      {agent("sandbox:", "  memory: 777"), []problem{{5, "no cpu 1024 with memory 777", "2048 to 8192"}}},
		"disk small":        {agent("sandbox: {disk: 20}"), []problem{{4, "disk of agent \"a\" is 20 GiB", "21 to 200"}}},
		"disk zero":         {agent("sandbox: {disk: 0}"), []problem{{4, "is 0 GiB", "21 to 200"}}},
		"disk large":        {agent("sandbox: {disk: 201}"), []problem{{4, "is 201 GiB", "21 to 200"}}},
		"secret with value": {agent("sandbox: {secrets: [KEY=value]}"), []problem{{4, "is not a name", "secret store"}}},
		"secret twice":      {agent("sandbox:", "  secrets: [A, B,", "    A]"), []problem{{6, `"A" stands twice`, "remove"}}},
		"secrets a mapping": {agent("sandbox: {secrets: {A: b}}"), []problem{{4, "is not a list", "- item"}}},
		"egress url":        {agent("sandbox: {egress: [\"https://npmjs.org\"]}"), []problem{{4, "no port", "public host name"}}},
		"egress path":       {agent("sandbox: {egress: [npmjs.org/x]}"), []problem{{4, "not a host name", "public host name"}}},
		"egress wildcard":   {agent("sandbox: {egress: [\"*.npmjs.org\"]}"), []problem{{4, "not a host name", "public host name"}}},
		"egress address":    {agent("sandbox: {egress: [169.254.169.254]}"), []problem{{4, "is an address", "public host name"}}},
		"egress localhost":  {agent("sandbox: {egress: [localhost]}"), []problem{{4, "not a host name", "public host name"}}},
		"egress internal":   {agent("sandbox: {egress: [metadata.google.internal]}"), []problem{{4, "private network", "public host name"}}},
		"egress port":       {agent("sandbox: {egress: [\"npmjs.org:0\"]}"), []problem{{4, "no port", "public host name"}}},
		"limit unknown":     {agent("sandbox: {limits: {turns: 3}}"), []problem{{4, `unknown key "turns"`, "cancel_grace"}}},
		"limit, no unit":    {agent("sandbox:", "  limits: {run: 30}"), []problem{{5, "limits.run of agent \"a\" is no length of time", "30s"}}},
		"limit negative":    {agent("sandbox: {limits: {idle: -5m}}"), []problem{{4, "limits.idle", "above zero"}}},
		"limit null":        {agent("sandbox: {limits: {start: }}"), []problem{{4, "limits.start", "30s"}}},
		"limit a list":      {agent("sandbox: {limits: {start: [1h]}}"), []problem{{4, "limits.start", "30s"}}},
		"limit short":       {agent("sandbox: {limits: {prepare: 1ms}}"), []problem{{4, "limits.prepare of agent \"a\" is out of bounds", "1s to 1h"}}},
		"limit long":        {agent("sandbox: {limits: {start: 25h}}"), []problem{{4, "out of bounds", "1s to 24h"}}},
		"grace long":        {agent("sandbox: {limits: {cancel_grace: 11m}}"), []problem{{4, "out of bounds", "1s to 10m"}}},
		"output, no unit":   {agent("sandbox: {limits: {output: 1000}}"), []problem{{4, "limits.output of agent \"a\" is no size", "10MiB"}}},
		"output small":      {agent("sandbox: {limits: {output: 1B}}"), []problem{{4, "out of bounds", "1KiB to 1GiB"}}},
		"output large":      {agent("sandbox: {limits: {output: 2GiB}}"), []problem{{4, "out of bounds", "1KiB to 1GiB"}}},
		"budget a text":     {claude("sandbox: {secrets: [ANTHROPIC_API_KEY], limits: {budget_usd: $5}}"), []problem{{5, "not an amount", "without a currency"}}},
		"budget NaN":        {claude("sandbox: {secrets: [ANTHROPIC_API_KEY], limits: {budget_usd: .nan}}"), []problem{{5, "not an amount", "without a currency"}}},
		"budget negative":   {claude("sandbox: {secrets: [ANTHROPIC_API_KEY], limits: {budget_usd: -1}}"), []problem{{5, "not an amount", "without a currency"}}},
		"budget zero":       {claude("sandbox: {secrets: [ANTHROPIC_API_KEY], limits: {budget_usd: 0}}"), []problem{{5, "out of bounds", "above 0"}}},
		"plain limits": {
			agent("limits: {run: 15m, idle: 1m, output: 1}"),
			[]problem{{4, "limits.run", "1s to 14m"}, {4, `unknown key "idle"`, "run"}, {4, "limits.output", "10MiB"}},
		},
		"plain budget, no price": {
			"agents:\n  - {id: a, harness: model, model: unheard-of, limits: {budget_usd: 5}}\n",
			[]problem{{2, `no price for model "unheard-of"`, "COMPANY_PRICES"}},
		},
		"team budget, no price": {
			"agents:\n  - {id: a, harness: model, model: unheard-of}\n  - {id: b, harness: fixture}\nteams:\n  - {id: t, leader: b, members: [a], limits: {budget_usd: 5}}\n",
			[]problem{{5, `no price for model "unheard-of" of its agent a`, "COMPANY_PRICES"}},
		},
		"limits beside a sandbox": {agent("sandbox:", "limits: {run: 1m}"), []problem{{5, "a sandbox and limits beside it", "into the sandbox"}}},
		"budget, no model":        {agent("sandbox: {limits: {budget_usd: 1}}"), []problem{{4, "a budget and no model", "name a model"}}},
		"budget, no price": {
			"agents:\n  - id: a\n    harness: claude\n    model: unheard-of\n    sandbox:\n      secrets: [ANTHROPIC_API_KEY]\n      limits:\n        budget_usd: 5\n",
			[]problem{{8, `no price for model "unheard-of"`, "COMPANY_PRICES"}},
		},

		"team, no leader":        {agent() + "teams:\n  - {id: t, members: [a]}\n", []problem{{5, `team "t" has no leader`, "id of an agent"}}},
		"team, no members":       {agent() + "teams:\n  - {id: t, leader: a}\n", []problem{{5, "has no members", "one or more"}}},
		"team, empty members":    {agent() + "teams:\n  - {id: t, leader: a, members: []}\n", []problem{{5, "has no members", "one or more"}}},
		"team, unknown leader":   {agent() + "teams:\n  - id: t\n    leader: x\n    members: [a]\n", []problem{{6, `leader "x" of team "t" is not an agent`, "this file"}}},
		"team, unknown member":   {agent() + "teams:\n  - id: t\n    leader: a\n    members:\n    - x\n", []problem{{8, `member "x" of team "t" is not an agent`, "this file"}}},
		"team of a team":         {agent() + "teams:\n  - {id: t, leader: a, members: [t]}\n", []problem{{5, `member "t" of team "t" is not an agent`, "this file"}}},
		"team, leader member":    {agent() + "teams:\n  - {id: t, leader: a, members: [a]}\n", []problem{{5, "is its member too", "remove it"}}},
		"team, member twice":     {agent() + "  - {id: b, harness: fixture}\nteams:\n  - {id: t, leader: a, members: [b, b]}\n", []problem{{6, "stands twice", "remove"}}},
		"team key":               {agent() + "teams:\n  - {id: t, leader: a, members: [b], sandbox: {}}\n", []problem{{5, `member "b"`, "agent"}, {5, `unknown key "sandbox" in a team`, "leader"}}},
		"team twice":             {agent() + "  - {id: b, harness: fixture}\nteams:\n  - {id: t, leader: a, members: [b]}\n  - {id: t, leader: b, members: [a]}\n", []problem{{7, `team "t" is defined twice`, "line 6"}}},
		"workflow, no steps":     {"workflows:\n  - id: w\n", []problem{{2, `workflow "w" has no steps`, "registered"}}},
		"workflow, unknown step": {"workflows:\n  - id: w\n    steps:\n    - collect\n    - deploy\n", []problem{{5, `step "deploy" of workflow "w" is not registered`, "collect, write"}}},
		"workflow key":           {"workflows:\n  - {id: w, steps: [collect], leader: a}\n", []problem{{2, `unknown key "leader" in a workflow`, "steps"}}},
		"workflow step a number": {"workflows:\n  - {id: w, steps: [1]}\n", []problem{{2, "not a text but int", `"1"`}}},

		"everything at once, in the order of lines": {
			"teams:\n  - {id: T, leader: ghost, members: [a]}\nagents:\n  - id: a\n    harness: clod\n    repository: {url: nope, branch: -x}\n  - id: a\n    harness: codex\n    sandbox: {cpu: 3, disk: 1}\n",
			[]problem{
				{2, `id "T"`, "a-z"},
				{2, `leader "ghost"`, "agent"},
				{5, `harness "clod"`, "claude"},
				{6, "a repository and no sandbox", "sandbox"},
				{6, "repository.branch must be", "main"},
				{6, "repository.url must be", "github.com"},
				{7, `agent "a" has no model`, "model:"},
				{7, "defined twice", "line 4"},
				{9, "disk", "21"},
				{9, "cpu 3", "256"},
				{9, "no model key", "OPENAI_API_KEY"},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := executor.Parse([]byte(test.yaml), options(t))
			problems, ok := errors.AsType[executor.Problems](err)
			if !ok || r != nil {
				t.Fatalf("got %v, %v; want problems", r, err)
			}
			if len(problems) != len(test.want) {
				t.Fatalf("got %d problems, want %d:\n%s", len(problems), len(test.want), problems)
			}
			left := problems
			for _, want := range test.want {
				i := -1
				for j, p := range left {
					if p.File == "executors.yaml" && p.Line == want.line && strings.Contains(p.Rule, want.rule) && strings.Contains(p.Remedy, want.remedy) {
						i = j
						break
					}
				}
				if i < 0 {
					t.Errorf("no line %d, %q, %q in\n%s", want.line, want.rule, want.remedy, problems)
					continue
				}
				left = append(left[:i:i], left[i+1:]...)
			}
			for i := range problems[1:] {
				if problems[i].Line > problems[i+1].Line {
					t.Errorf("not in the order of lines:\n%s", problems)
				}
			}
		})
	}
}

func options(t *testing.T) executor.Options {
	t.Helper()
	return executor.Options{
		Prices:    prices(t),
		GitHosts:  []string{"https://git.example.com/"},
		Available: []executor.Harness{executor.HarnessFixture},
		Steps:     []string{"write", "collect"},
		Fixture: func(script json.RawMessage) error {
			if strings.Contains(string(script), "wrong") {
				return errors.New("turns must be a list")
			}
			return nil
		},
	}
}

func TestProblemText(t *testing.T) {
	t.Parallel()
	_, err := executor.Parse([]byte("agents:\n  - harness: fixture\n    id: X\n    model: \"\"\n"), executor.Options{File: "/etc/company/executors.yaml"})
	want := `/etc/company/executors.yaml:3: id "X" is not allowed; use up to 63 of a-z, 0-9 and -, not beginning with -
/etc/company/executors.yaml:4: model of agent "X" is blank; give it one or remove the key`
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

func TestAccepted(t *testing.T) {
	t.Parallel()
	for name, yaml := range map[string]string{
		"empty":                        "",
		"comment only":                 "# nothing yet\n",
		"null":                         "---\n",
		"empty sections":               "agents:\nteams: []\nworkflows:\n",
		"anchor":                       "agents:\n  - {id: a, harness: fixture, sandbox: &s {cpu: 512, secrets: [A]}}\n  - {id: b, harness: fixture, sandbox: *s}\n",
		"same id in each kind":         agent() + "  - {id: b, harness: fixture}\nteams:\n  - {id: a, leader: a, members: [b]}\nworkflows:\n  - {id: a, steps: [collect]}\n",
		"a step twice":                 "workflows:\n  - {id: w, steps: [collect, write, collect]}\n",
		"configured host":              agent("sandbox:", "repository: {url: https://git.example.com/group/sub/r, branch: feature/x}"),
		"sandbox without repository":   agent("sandbox:"),
		"fixture with model":           agent("model: claude-sonnet-4-6", "sandbox: {limits: {budget_usd: 0.5}}"),
		"budget silent, model unknown": "agents:\n  - {id: a, harness: codex, model: unheard-of, sandbox: {secrets: [OPENAI_API_KEY]}}\n",
		"team with a sandboxed member": claude("sandbox: {secrets: [ANTHROPIC_API_KEY]}") + "  - {id: b, harness: fixture}\nteams:\n  - {id: t, leader: b, members: [a]}\n",
		"longest id":                   "agents:\n  - {id: " + strings.Repeat("a", 63) + ", harness: fixture}\n",
		"numeric id in quotes":         "agents:\n  - {id: \"7\", harness: fixture}\n",
	} {
		if _, err := executor.Parse([]byte(yaml), options(t)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestUncheckedSteps(t *testing.T) {
	t.Parallel()
	file := []byte("workflows:\n  - {id: w, steps: [anything]}\n")
	if _, err := executor.Parse(file, executor.Options{}); err != nil {
		t.Errorf("a process without steps checks none: %v", err)
	}
	if _, err := executor.Parse(file, executor.Options{Steps: []string{}}); err == nil {
		t.Error("a process with no registered step has to refuse every one")
	}
}

func TestValues(t *testing.T) {
	t.Parallel()
	r, err := executor.Parse([]byte(agent(
		"fixture: {turns: [{content: hi, delay: 0.5}]}",
		"model: claude-sonnet-4-6",
		"sandbox:",
		"  cpu: 4096",
		"  disk: 200",
		"  egress: [registry.npmjs.org, \"proxy.example.com:8080\"]",
		"  company: true",
		"  limits: {start: 24h, prepare: 1s, run: 1h30m, idle: 90s, cancel_grace: 10m, budget_usd: 0.25, output: 1GiB}",
	)), options(t))
	if err != nil {
		t.Fatal(err)
	}
	got, _ := r.Agent("a")
	if string(got.Fixture) != `{"turns":[{"content":"hi","delay":0.5}]}` {
		t.Errorf("script %s", got.Fixture)
	}
	if diff := cmp.Diff(&executor.Sandbox{CPU: 4096, Memory: 8192, Disk: 200, Egress: []string{"registry.npmjs.org", "proxy.example.com:8080"}, Company: true}, got.Sandbox); diff != "" {
		t.Error(diff)
	}
	want := executor.Limits{
		Start: 24 * time.Hour, Prepare: time.Second, Run: 90 * time.Minute, Idle: 90 * time.Second,
		CancelGrace: 10 * time.Minute, BudgetUSD: 0.25, Output: 1 << 30,
	}
	if diff := cmp.Diff(want, got.Limits); diff != "" {
		t.Error(diff)
	}
}

func TestFileTooLarge(t *testing.T) {
	t.Parallel()
	_, err := executor.Parse([]byte("# "+strings.Repeat("x", executor.MaxFileSize)), executor.Options{})
	if err == nil || !strings.Contains(err.Error(), "executors.yaml:1: the file is larger than 1 MiB") {
		t.Errorf("got %v", err)
	}
}

// FuzzParse: no file makes the parser panic, and every refusal names a line.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"", "agents: [*a]", "a: &a [*a]", "agents: &a [{fixture: *a}]", agent("<<: {x: y}"), claude("sandbox: {limits: {run: 1h}}"), "? [a]\n: b", "!!binary x: y", "agents: [{fixture: {1: 2}}]"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		_, err := executor.Parse(data, executor.Options{})
		if err == nil {
			return
		}
		problems, ok := errors.AsType[executor.Problems](err)
		if !ok {
			t.Fatalf("%q: %v", data, err)
		}
		for _, p := range problems {
			if p.Line < 1 || p.Rule == "" || p.Remedy == "" {
				t.Errorf("%q: %+v", data, p)
			}
		}
	})
}
