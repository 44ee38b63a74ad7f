package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"companyos/shared/agent/brief"
	"companyos/shared/app"
	"companyos/shared/executor"
	"companyos/shared/model"
	"companyos/shared/task"
)

const (
	leaderGuidance = guidance + `

You lead a team. Ask its members by their tools: a member knows nothing of this but what you write to it, and remembers what
you asked it before. What a member answers is material to judge. The answer is yours.`
	memberGuidance = guidance + `

You are a member of a team. Its leader asks you and sees nothing but your answer.`
)

// team is a run of a team: its leader works on it and asks its members, whose models count for the same run.
type team struct {
	Worker
	job     app.Job
	meter   *model.Meter
	members map[string]*member
}

// member keeps what it was asked within the run.
type member struct {
	executor.Executor
	asked int
	agent model.Agent
}

func (w Worker) team(ctx context.Context, job app.Job, meter *model.Meter) (string, error) {
	t := &team{Worker: w, job: job, meter: meter, members: map[string]*member{}}
	leader, ok := job.Agents[job.Executor.Leader]
	if !ok {
		return "", fmt.Errorf("the leader %s of the team is not registered", job.Executor.Leader)
	}
	for _, id := range job.Executor.Members {
		agent, ok := job.Agents[id]
		if !ok {
			return "", fmt.Errorf("the member %s of the team is not registered", id)
		}
		t.members[id] = &member{Executor: agent}
	}
	switch leader.Harness {
	case executor.HarnessModel:
		tools := append(t.tools(), routineTools(job.Routine)...)
		return w.think(ctx, job, leader, meter, brief.Section("Where you are", leaderGuidance), tools, leaderTurns)
	case executor.HarnessFixture:
		input, err := scripted(job.Input, leader.Fixture)
		if err != nil {
			return "", err
		}
		return play(ctx, input, job.Run.Attempt, t.ask)
	case executor.HarnessClaude, executor.HarnessCodex, executor.HarnessTeam, executor.HarnessWorkflow:
	}
	return "", missing(leader.Harness)
}

// scripted is an input with a fixture's script.
func scripted(input []byte, script json.RawMessage) ([]byte, error) {
	if script == nil {
		return input, nil
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(input, &fields); err != nil {
		return nil, &model.EndError{Kind: task.EndInternal, Text: "The attempt's input is not readable."}
	}
	fields["script"] = script
	return json.Marshal(fields)
}

// longestTool is the longest name of a tool that every model takes.
const longestTool = 64

// tools are the members, as the leader sees them.
func (t *team) tools() []model.Tool {
	var tools []model.Tool
	for i, id := range t.job.Executor.Members {
		name := "ask_" + id
		if len(name) > longestTool {
			name = fmt.Sprintf("ask_member_%d", i+1)
		}
		about := "Ask " + t.members[id].Name + ", a member of your team."
		if role := strings.TrimSpace(t.members[id].Instructions); role != "" {
			about += " Its role: " + role
		}
		tools = append(tools, tool(name, about, map[string]any{"message": text("What it is to do, with all that it needs to know.")}, []string{"message"},
			func(ctx context.Context, in struct{ Message string }) (string, error) {
				return t.ask(ctx, id, in.Message)
			}))
	}
	return tools
}

// ask asks a member. What goes wrong is the leader's to deal with, but for what ends the run, which ends it at the leader too.
func (t *team) ask(ctx context.Context, id, message string) (string, error) {
	m, ok := t.members[id]
	switch {
	case !ok:
		return "", fmt.Errorf("there is no member %q in this team", id)
	case strings.TrimSpace(message) == "":
		return "", errors.New("message is blank: say what the member is to do")
	}
	m.asked++
	switch m.Harness {
	case executor.HarnessModel:
		return t.askModel(ctx, m, message)
	case executor.HarnessFixture:
		input, err := json.Marshal(map[string]any{"brief": message, "script": m.Fixture})
		if err != nil {
			return "", err
		}
		answer, err := play(ctx, input, m.asked, nil)
		if err == nil && answer == "" {
			err = errors.New(noAnswer)
		}
		return answer, err
	case executor.HarnessClaude, executor.HarnessCodex, executor.HarnessTeam, executor.HarnessWorkflow:
	}
	return "", missing(m.Harness)
}

func (t *team) askModel(ctx context.Context, m *member, message string) (string, error) {
	if m.agent == nil {
		agent, err := t.open(ctx, t.job, m.Executor, model.Config{
			Meter: t.meter, System: brief.Section("Where you are", memberGuidance) + brief.Section("Your role", m.Instructions), Turns: 1,
		})
		if err != nil {
			return "", err
		}
		m.agent = agent
	}
	answer, failed := m.agent.Answer(ctx, message)
	if failed != nil {
		m.agent = nil // its conversation has a hole
	}
	return answered(answer, failed)
}
