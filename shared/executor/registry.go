package executor

import (
	"fmt"
	"slices"

	"companyos/shared/task"
)

// Registry is an immutable set of executors.
type Registry struct {
	revision  string
	available []Harness
	executors []Executor
	index     map[reference]int
}

type reference struct {
	kind task.ExecutorKind
	id   string
}

// NewRegistry makes a registry of executors that a program lists, such as doubles; Parse makes one of a file. available
// are the harnesses that this deployment runs. Name, harness of a team or workflow, and limits get their defaults. It
// fails on an unknown kind, an empty or reserved id, and an id that is taken.
func NewRegistry(available []Harness, executors ...Executor) (*Registry, error) {
	r := &Registry{available: slices.Clone(available), index: make(map[reference]int, len(executors))}
	for _, e := range executors {
		if err := r.add(e); err != nil {
			return nil, err
		}
	}
	for i := range r.executors {
		r.executors[i].problem = r.teamProblem(&r.executors[i])
	}
	return r, nil
}

func (r *Registry) add(e Executor) error {
	ref := reference{e.Kind, e.ID}
	_, taken := r.index[ref]
	switch {
	case !knownKind(e.Kind):
		return fmt.Errorf("executor %q: unknown kind %q", e.ID, e.Kind)
	case e.ID == "" || Reserved(e.ID):
		return fmt.Errorf("%s %q: the id is empty or reserved", e.Kind, e.ID)
	case taken:
		return fmt.Errorf("%s %q is registered twice", e.Kind, e.ID)
	}
	if e.Name == "" {
		e.Name = e.ID
	}
	if e.Harness == "" {
		switch e.Kind {
		case task.ExecutorTeam:
			e.Harness = HarnessTeam
		case task.ExecutorWorkflow:
			e.Harness = HarnessWorkflow
		case task.ExecutorAgent:
		}
	}
	if e.Limits == (Limits{}) {
		e.Limits = PlainLimits()
		if e.Sandboxed() {
			e.Limits = SandboxLimits()
		}
	}
	e.available = r.available
	r.index[ref] = len(r.executors)
	r.executors = append(r.executors, e)
	return nil
}

func knownKind(kind task.ExecutorKind) bool {
	switch kind {
	case task.ExecutorAgent, task.ExecutorTeam, task.ExecutorWorkflow:
		return true
	}
	return false
}

// Lookup returns the executor of exactly this kind and id.
func (r *Registry) Lookup(kind task.ExecutorKind, id string) (Executor, bool) {
	i, ok := r.index[reference{kind, id}]
	if !ok {
		return Executor{}, false
	}
	return r.executors[i], true
}

// Agent returns an agent.
func (r *Registry) Agent(id string) (Executor, bool) { return r.Lookup(task.ExecutorAgent, id) }

// Team returns a team.
func (r *Registry) Team(id string) (Executor, bool) { return r.Lookup(task.ExecutorTeam, id) }

// Workflow returns a workflow.
func (r *Registry) Workflow(id string) (Executor, bool) { return r.Lookup(task.ExecutorWorkflow, id) }

// All returns all executors: agents, teams, workflows, each in the order of the file.
func (r *Registry) All() []Executor { return slices.Clone(r.executors) }

// AgentsOf returns the agents of a team by id: its leader and its members. It is empty for everything else.
func (r *Registry) AgentsOf(e Executor) map[string]Executor {
	agents := map[string]Executor{}
	if e.Kind != task.ExecutorTeam {
		return agents
	}
	for _, id := range append([]string{e.Leader}, e.Members...) {
		if agent, ok := r.Agent(id); ok {
			agents[id] = agent
		}
	}
	return agents
}

// teamProblem says why a team cannot run whatever the deployment is: its agents have to do without a sandbox, as a team does.
func (r *Registry) teamProblem(e *Executor) *RuleError {
	if e.Harness != HarnessTeam {
		return nil
	}
	for _, id := range append([]string{e.Leader}, e.Members...) {
		agent, ok := r.Agent(id)
		switch {
		case !ok:
			return &RuleError{
				Detail: fmt.Sprintf("The team %s cannot run: its agent %s is not registered", e.ID, id),
				Code:   "team_agent_missing", Remedy: "Register the agent, or change the team.",
			}
		case agent.Harness != HarnessModel && agent.Harness != HarnessFixture || agent.Sandboxed():
			return &RuleError{
				Detail: fmt.Sprintf("The team %s cannot run: its agent %s works in a sandbox", e.ID, id),
				Code:   "team_agent_sandboxed", Remedy: "Make a team of agents without a sandbox, with harness model or fixture.",
			}
		}
	}
	return nil
}

// Revision is the SHA-256 of the file in hex, empty for a registry without a file.
func (r *Registry) Revision() string { return r.revision }

// With returns a registry with further executors, which are the program's and not the file's.
func (r *Registry) With(executors ...Executor) (*Registry, error) {
	more, err := NewRegistry(r.available, slices.Concat(r.executors, executors)...)
	if err != nil {
		return nil, err
	}
	more.revision = r.revision
	return more, nil
}

// Without returns a registry that lacks one executor.
func (r *Registry) Without(kind task.ExecutorKind, id string) *Registry {
	less := &Registry{revision: r.revision, available: r.available, index: make(map[reference]int, len(r.executors))}
	for _, e := range r.executors {
		if e.Kind != kind || e.ID != id {
			less.index[reference{e.Kind, e.ID}] = len(less.executors)
			less.executors = append(less.executors, e)
		}
	}
	return less
}

// holdsSchedulerTools looks into a team as well.
func (r *Registry) holdsSchedulerTools(e Executor) bool {
	if e.SchedulerTools {
		return true
	}
	if e.Kind != task.ExecutorTeam {
		return false
	}
	return slices.ContainsFunc(append([]string{e.Leader}, e.Members...), func(id string) bool {
		member, ok := r.Agent(id)
		return ok && member.SchedulerTools
	})
}
