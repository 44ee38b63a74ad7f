package main

import (
	"companyos/shared/executor"
	"companyos/shared/task"
)

const (
	repository = "https://github.com/acme/app"
	private    = "https://github.com/acme/private"
)

func sandboxed(id, url, branch string, secrets ...string) executor.Executor {
	e := executor.Executor{
		Kind: task.ExecutorAgent, ID: id, Name: id, Harness: executor.HarnessFixture, Limits: executor.SandboxLimits(),
		Sandbox: &executor.Sandbox{CPU: 256, Memory: 512, Disk: 21, Secrets: secrets},
	}
	if url != "" {
		e.Repository = &executor.Repository{URL: url, Branch: branch}
	}
	return e
}

func plain(kind task.ExecutorKind, id string, h executor.Harness) executor.Executor {
	return executor.Executor{Kind: kind, ID: id, Name: id, Harness: h, Limits: executor.PlainLimits()}
}

// doubles are the executors that the contract's exchanges name.
func doubles() (*executor.Registry, error) {
	scheduling := plain(task.ExecutorAgent, "sched-agent", executor.HarnessFixture)
	scheduling.SchedulerTools = true
	remote := plain(task.ExecutorAgent, "remote-agent", executor.HarnessFixture)
	remote.Remote = true
	elsewhere := plain(task.ExecutorAgent, "local-db2", executor.HarnessFixture)
	elsewhere.DatabaseID = "company-db2"
	team := plain(task.ExecutorTeam, "local-team", executor.HarnessFixture)
	workflow := plain(task.ExecutorWorkflow, "local-workflow", executor.HarnessWorkflow)
	workflow.Steps = []string{"one"}
	return executor.NewRegistry(
		[]executor.Harness{executor.HarnessFixture, executor.HarnessWorkflow},
		sandboxed("claude", repository, "main"),
		sandboxed("codex", repository, "main"),
		sandboxed("claude-dev", repository, "dev"),
		sandboxed("claude-other", "https://github.com/acme/other", "main"),
		sandboxed("claude-norepo", "", ""),
		sandboxed("claude-token", private, "main", executor.SecretGitHubToken),
		sandboxed("claude-notoken", private, "main"),
		plain(task.ExecutorAgent, "local-agent", executor.HarnessFixture),
		plain(task.ExecutorAgent, "vanishing", executor.HarnessFixture),
		scheduling, remote, elsewhere, team, workflow,
	)
}
