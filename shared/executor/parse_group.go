package executor

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"companyos/shared/task"
)

// item is one text of a list and where it stands.
type item struct {
	text string
	at   *yaml.Node
}

func texts(items []item) []string {
	all := make([]string, len(items))
	for i, it := range items {
		all[i] = it.text
	}
	return all
}

// items reads a list of texts.
func (p *parser) items(n *yaml.Node, what string) []item {
	var all []item
	for _, entry := range p.list(n, what) {
		if text := p.text(entry, "an entry in "+what); text != "" {
			all = append(all, item{text, entry})
		}
	}
	return all
}

// distinct reads a list of texts none of which may stand twice.
func (p *parser) distinct(n *yaml.Node, what string) []item {
	all := p.items(n, what)
	seen := make(map[string]bool, len(all))
	for _, it := range all {
		if seen[it.text] {
			p.fail(it.at, "remove one of them", "%q stands twice in %s", it.text, what)
		}
		seen[it.text] = true
	}
	return all
}

// empty says that a list is missing or holds nothing; a list with wrong entries was reported for those.
func empty(n *yaml.Node) bool {
	return n == nil || isNull(n) || n.Kind == yaml.SequenceNode && len(n.Content) == 0
}

// team reads a team. Its references are checked by what it returns, when all agents are known.
func (p *parser) team(n *yaml.Node) (references func()) {
	f, ok := p.mapping(n, "a team", "id", "name", "leader", "members", "limits")
	if !ok {
		return func() {}
	}
	e, what := p.identity(f, task.ExecutorTeam)
	e.Harness = HarnessTeam
	var budget *yaml.Node
	e.Limits, budget = p.plainLimits(f.values["limits"], what)
	if budget != nil {
		e.Limits.BudgetUSD = p.usd(budget, what)
	}
	leader := f.values["leader"]
	if leader == nil {
		p.fail(f.at, "add leader: with the id of an agent", "%s has no leader", what)
	}
	if empty(f.values["members"]) {
		p.fail(f.at, "add members: with the ids of one or more agents", "%s has no members", what)
	}
	e.Leader = p.text(leader, "leader of "+what)
	members := p.distinct(f.values["members"], "members of "+what)
	e.Members = texts(members)
	p.executors = append(p.executors, e)
	return func() {
		if budget != nil {
			p.teamBudget(budget, what, e)
		}
		if e.Leader != "" && p.at["agent "+e.Leader] == nil {
			p.fail(leader, "use the id of an agent of this file", "leader %q of %s is not an agent", e.Leader, what)
		}
		for _, m := range members {
			switch {
			case p.at["agent "+m.text] == nil:
				p.fail(m.at, "use the id of an agent of this file", "member %q of %s is not an agent", m.text, what)
			case m.text == e.Leader:
				p.fail(m.at, "remove it from members", "%q leads %s and is its member too", m.text, what)
			}
		}
	}
}

// teamBudget wants a price for the model of each agent: otherwise the budget could not be kept.
func (p *parser) teamBudget(at *yaml.Node, what string, team Executor) {
	for _, agent := range p.executors {
		if agent.Kind != task.ExecutorAgent || agent.Model == "" || agent.Price != nil {
			continue
		}
		if agent.ID == team.Leader || slices.Contains(team.Members, agent.ID) {
			p.fail(at, noPriceRemedy, "%s has a budget and prices.yaml has no price for model %q of its agent %s", what, agent.Model, agent.ID)
		}
	}
}

func (p *parser) workflow(n *yaml.Node) {
	f, ok := p.mapping(n, "a workflow", "id", "name", "steps")
	if !ok {
		return
	}
	e, what := p.identity(f, task.ExecutorWorkflow)
	e.Harness, e.Limits = HarnessWorkflow, PlainLimits()
	if empty(f.values["steps"]) {
		p.fail(f.at, "add steps: with the names of registered steps", "%s has no steps", what)
	}
	steps := p.items(f.values["steps"], "steps of "+what)
	e.Steps = texts(steps)
	if p.Steps != nil {
		for _, s := range steps {
			if !slices.Contains(p.Steps, s.text) {
				p.fail(s.at, p.registered(), "step %q of %s is not registered", s.text, what)
			}
		}
	}
	p.executors = append(p.executors, e)
}

func (p *parser) registered() string {
	const where = "register it in functions/execute/steps.go"
	if len(p.Steps) == 0 {
		return where
	}
	return where + ", or use one of " + strings.Join(slices.Sorted(slices.Values(p.Steps)), ", ")
}
