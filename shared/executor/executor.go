// Package executor is the registry of who can do a Task: agents, teams and workflows, as the operator's executors.yaml
// lists them, with the rules that a Task's acceptance and start check against them. It starts nothing and reads no
// secret: it holds their names only.
package executor

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"companyos/shared/task"
)

// Harness is what does the work of an executor.
type Harness string

// The harnesses. Team and Workflow are those of every team and workflow of the file.
const (
	HarnessClaude   Harness = "claude"   // Claude Code, in a sandbox
	HarnessCodex    Harness = "codex"    // Codex, in a sandbox
	HarnessModel    Harness = "model"    // a model's API, without a sandbox
	HarnessFixture  Harness = "fixture"  // a script, deterministic and without any credential
	HarnessTeam     Harness = "team"     // a leader runs members
	HarnessWorkflow Harness = "workflow" // steps written in Go
)

// SecretGitHubToken is the secret that fetches a private repository.
const SecretGitHubToken = "GITHUB_READ_TOKEN"

// Executor is one agent, team or workflow. Treat it as read-only: its slices are shared by all copies.
type Executor struct {
	Kind         task.ExecutorKind
	ID           string
	Name         string // the id where the file gives none
	Harness      Harness
	Model        string
	Price        *Price // of the model; nil where the operator's list does not have it
	Instructions string
	Repository   *Repository
	Sandbox      *Sandbox // nil: runs without one
	Limits       Limits
	Fixture      json.RawMessage // the script of a fixture agent, a JSON object; nil: the Task's brief may hold one

	Leader  string   // of a team, an agent's id
	Members []string // of a team, agents' ids
	Steps   []string // of a workflow, in order

	// What only a program can register, never a file.
	SchedulerTools bool   // may change schedules, so no Task is given to it
	Remote         bool   // lives in another process, so it can be accepted but never started
	NoDatabase     bool   // keeps no runs
	DatabaseID     string // where its runs are kept; empty is the company's own database

	available []Harness  // what this deployment runs; the registry sets it
	problem   *RuleError // why it can run nowhere; the registry sets it
}

// Repository is what a sandboxed executor works on.
type Repository struct {
	URL    string
	Branch string
}

// Sandbox is the size of a sandbox and what it is given.
type Sandbox struct {
	CPU     int      // CPU units, 1024 is one vCPU
	Memory  int      // MiB
	Disk    int      // GiB
	Secrets []string // names; only the supervisor gets the values
	Egress  []string // hosts beside the model, "name" (port 443) or "name:port"
	Company bool     // the agent gets the Company's tools: it reads its Product and proposes Tasks
}

// Sandboxed says whether attempts run in a sandbox. Only an agent can; a team with sandboxed members does not.
func (e Executor) Sandboxed() bool {
	return e.Kind == task.ExecutorAgent && e.Sandbox != nil
}

// HasSecret says whether the executor's sandbox is given this secret.
func (e Executor) HasSecret(name string) bool {
	return e.Sandbox != nil && slices.Contains(e.Sandbox.Secrets, name)
}

// Runnable says, as a *RuleError, why the executor cannot be used in this deployment yet: its harness is not among
// those that the process was built with, or it is a team that cannot work together. A remote executor runs on its own; CheckStart refuses it.
func (e Executor) Runnable() error {
	if e.Remote {
		return nil
	}
	if e.problem != nil {
		return e.problem
	}
	if slices.Contains(e.available, e.Harness) {
		return nil
	}
	names := make([]string, len(e.available))
	for i, h := range e.available {
		names[i] = string(h)
	}
	remedy := "This deployment runs no executor at all yet."
	if len(names) > 0 {
		remedy = "Choose an executor with one of these harnesses: " + strings.Join(names, ", ") + "."
	}
	return &RuleError{
		Detail: fmt.Sprintf("The %s %s cannot run yet: this deployment does not run the harness %s", e.Kind, e.ID, e.Harness),
		Code:   "executor_not_runnable",
		Remedy: remedy,
	}
}
