package executor

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"companyos/shared/company"
	"companyos/shared/task"
)

// Options are what the rules of executors.yaml need to know about the deployment.
type Options struct {
	File       string                      // named in problems; executors.yaml when empty
	Prices     Prices                      // of models; a budget needs one
	GitHosts   []string                    // repositories allowed beside GitHub's, as company.ParseGitHosts returns them
	GitHostsIn string                      // the setting that further hosts are added to, for problems; COMPANY_GIT_HOSTS when empty
	Available  []Harness                   // what this deployment runs; the others are listed and say that they cannot run
	Steps      []string                    // registered workflow steps; nil in a process that runs none: not checked there
	Fixture    func(json.RawMessage) error // checks a fixture script; nil: any JSON object
}

var executorID = regexp.MustCompile(`\A[a-z0-9][a-z0-9-]*\z`)

const mostID = 63 // characters of an executor's id

// parser holds what the references between executors are checked with.
type parser struct {
	reader
	Options
	executors []Executor
	at        map[string]*yaml.Node // where "kind id" was defined
}

// Parse reads executors.yaml. The error is Problems, with everything that is wrong.
func Parse(data []byte, o Options) (*Registry, error) {
	if o.File == "" {
		o.File = "executors.yaml"
	}
	p := &parser{reader: reader{file: o.File}, Options: o, at: map[string]*yaml.Node{}}
	if root := p.document(data); root != nil && !isNull(root) {
		p.top(root)
	}
	if err := p.problems.err(); err != nil {
		return nil, err
	}
	registry, err := NewRegistry(o.Available, p.executors...)
	if err != nil {
		return nil, err
	}
	registry.revision = revision(data)
	return registry, nil
}

func (p *parser) top(root *yaml.Node) {
	f, ok := p.mapping(root, "the file", "agents", "teams", "workflows")
	if !ok {
		return
	}
	for _, n := range p.list(f.values["agents"], "agents") {
		p.agent(n)
	}
	var check []func()
	for _, n := range p.list(f.values["teams"], "teams") {
		check = append(check, p.team(n))
	}
	for _, n := range p.list(f.values["workflows"], "workflows") {
		p.workflow(n)
	}
	for _, references := range check {
		references()
	}
}

// identity reads id and name, and reports an id that is taken. what names the executor in later problems.
func (p *parser) identity(f fields, kind task.ExecutorKind) (e Executor, what string) {
	e = Executor{Kind: kind, ID: p.text(f.values["id"], fmt.Sprintf("id of this %s", kind))}
	what = fmt.Sprintf("%s %q", kind, e.ID)
	if e.ID == "" {
		what = "this " + string(kind)
	}
	node := f.values["id"]
	key := string(kind) + " " + e.ID
	switch {
	case node == nil:
		p.fail(f.at, "add an id such as "+string(kind)+"-1", "%s has no id", what)
	case e.ID == "":
	case !executorID.MatchString(e.ID) || len(e.ID) > mostID:
		p.fail(node, "use up to 63 of a-z, 0-9 and -, not beginning with -", "id %q is not allowed", e.ID)
	case Reserved(e.ID):
		p.fail(node, "choose another id", "id %q is reserved", e.ID)
	case p.at[key] != nil:
		p.fail(node, fmt.Sprintf("rename one of them; the first is in line %d", p.at[key].Line), "%s is defined twice", what)
	default:
		p.at[key] = node
	}
	e.Name = p.text(f.values["name"], "name of "+what)
	return e, what
}

func (p *parser) agent(n *yaml.Node) {
	f, ok := p.mapping(n, "an agent", "id", "name", "harness", "model", "instructions", "repository", "sandbox", "limits", "fixture")
	if !ok {
		return
	}
	e, what := p.identity(f, task.ExecutorAgent)
	e.Harness = p.harness(f, what)
	e.Model = p.text(f.values["model"], "model of "+what)
	if e.Model == "" && f.values["model"] == nil && e.Harness != "" && e.Harness != HarnessFixture {
		p.fail(f.at, "add model: with the provider's name of the model", "%s has no model", what)
	}
	if price, ok := p.Prices[e.Model]; ok {
		e.Price = &price
	}
	e.Instructions = p.text(f.values["instructions"], "instructions of "+what)
	if repository := f.values["repository"]; repository != nil {
		e.Repository = p.repository(repository, what)
	}
	if sandbox := f.values["sandbox"]; sandbox != nil {
		e.Sandbox, e.Limits = p.sandbox(sandbox, what, e)
		if limits := f.values["limits"]; limits != nil {
			p.fail(limits, "move them into the sandbox", "%s has a sandbox and limits beside it", what)
		}
	} else {
		var budget *yaml.Node
		if e.Limits, budget = p.plainLimits(f.values["limits"], what); budget != nil {
			e.Limits.BudgetUSD = p.budget(budget, what, e.Model, e.Price != nil)
		}
	}
	p.combination(f, what, e)
	if script := f.values["fixture"]; script != nil {
		e.Fixture = p.script(script, what)
	}
	p.executors = append(p.executors, e)
}

func (p *parser) harness(f fields, what string) Harness {
	n := f.values["harness"]
	if n == nil {
		p.fail(f.at, "add harness: with one of claude, codex, model, fixture", "%s has no harness", what)
		return ""
	}
	text := p.text(n, "harness of "+what)
	switch h := Harness(text); h {
	case HarnessClaude, HarnessCodex, HarnessModel, HarnessFixture:
		return h
	case "": // text has said it
	default:
		p.fail(n, "use one of claude, codex, model, fixture", "harness %q of %s is not known", text, what)
	}
	return ""
}

// modelKeys are the secrets that the harnesses in a sandbox cannot work without.
var modelKeys = map[Harness]string{HarnessClaude: "ANTHROPIC_API_KEY", HarnessCodex: "OPENAI_API_KEY"}

// combination checks what goes with what in an agent.
func (p *parser) combination(f fields, what string, e Executor) {
	sandbox, repository, script := f.values["sandbox"], f.values["repository"], f.values["fixture"]
	key, needsSandbox := modelKeys[e.Harness]
	if needsSandbox && sandbox == nil {
		p.fail(f.values["harness"], "add sandbox: {secrets: ["+key+"]}", "%s has harness %s and no sandbox", what, e.Harness)
	}
	if needsSandbox && e.Sandbox != nil && !e.HasSecret(key) {
		p.fail(valueOf(sandbox, "secrets"), "add "+key+" to sandbox.secrets", "the secrets of %s hold no model key", what)
	}
	if repository != nil && sandbox == nil {
		p.fail(repository, "add a sandbox or remove the repository", "%s has a repository and no sandbox", what)
	}
	if e.Harness == HarnessModel && sandbox != nil {
		p.fail(sandbox, "remove the sandbox, or use harness claude or codex", "%s has harness model, which runs without a sandbox", what)
	}
	if script != nil && e.Harness != "" && e.Harness != HarnessFixture {
		p.fail(script, "remove it, or use harness fixture", "%s has a fixture script and harness %s", what, e.Harness)
	}
}

// valueOf is where a key's value stands in a mapping, the mapping itself where the key is missing.
func valueOf(n *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return resolve(n.Content[i+1])
		}
	}
	return n
}

func (p *parser) repository(n *yaml.Node, what string) *Repository {
	f, ok := p.mapping(n, "repository of "+what, "url", "branch")
	if !ok {
		return nil
	}
	r := &Repository{URL: p.text(f.values["url"], "repository.url of "+what), Branch: "main"}
	if at := f.values["url"]; at == nil {
		p.fail(f.at, "add url: https://github.com/owner/name", "repository of %s has no url", what)
	} else if err := company.ValidateRepositoryURL(r.URL, p.GitHosts); err != nil && r.URL != "" {
		remedy := "write https://github.com/owner/name"
		if len(p.GitHosts) > 0 {
			remedy += " or a repository below " + strings.Join(p.GitHosts, ", ")
		}
		p.fail(at, remedy+", or let the operator add its host to "+cmp.Or(p.GitHostsIn, "COMPANY_GIT_HOSTS"), "%s (%s has %q)", err, what, r.URL)
	}
	if at := f.values["branch"]; at != nil {
		r.Branch = p.text(at, "repository.branch of "+what)
		if err := company.ValidateBranch(r.Branch); err != nil && r.Branch != "" {
			p.fail(at, "write the branch's short name, such as main", "%s (%s has %q)", err, what, r.Branch)
		}
	}
	return r
}

// script keeps a fixture script as JSON, the form in which a Task's brief may hold one too.
func (p *parser) script(n *yaml.Node, what string) json.RawMessage {
	if n.Kind != yaml.MappingNode {
		p.fail(n, "write it as a mapping", "the fixture script of %s is not a mapping", what)
		return nil
	}
	var value map[string]any
	err := n.Decode(&value)
	var script json.RawMessage
	if err == nil {
		script, err = json.Marshal(value)
	}
	if err == nil && p.Fixture != nil {
		err = p.Fixture(script)
	}
	if err != nil {
		p.fail(n, "correct the script", "the fixture script of %s is not valid: %s", what, strings.TrimPrefix(err.Error(), "yaml: "))
		return nil
	}
	return script
}
