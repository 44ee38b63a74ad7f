package agent

import (
	"encoding/json"
	"path/filepath"
	"strings"

	"companyos/shared/agent/fixture"
	"companyos/shared/task"
	"companyos/shared/wire"
)

// fixtureHarness runs the fixture: this program again, as a child like any other harness.
type fixtureHarness struct{}

func (fixtureHarness) Profile() Profile {
	const file = "transcript.jsonl"
	return Profile{conversation: conversation{
		dir: ".", pattern: file, place: func(string) string { return file }, id: fixtureSession,
	}}
}

// fixtureSession is the session that a line of the transcript names.
func fixtureSession(line []byte) string {
	var l struct {
		Session string `json:"session"`
	}
	if json.Unmarshal(line, &l) != nil {
		return ""
	}
	return l.Session
}

func (fixtureHarness) Command(in HarnessInput) (Command, error) {
	script, err := fixture.Find(in.Input)
	if err != nil {
		return Command{}, failuref(task.EndFailed, err, "%v", err)
	}
	stdin, err := json.Marshal(fixture.Input{
		Session: in.Session, Turn: script.Turn(in.Attempt), Prompt: fixturePrompt(in.Instructions, in.Input), Transcript: filepath.Join(in.Home, "transcript.jsonl"),
	})
	if err != nil {
		return Command{}, err
	}
	return Command{Args: append(append([]string{}, in.Self...), SubcommandFixture), Stdin: stdin}, nil
}

func (fixtureHarness) Parser(HarnessInput) Parser { return &fixtureParser{} }

// fixturePrompt shows what an agent is told: the executor's instructions, then the attempt's input as it was frozen.
func fixturePrompt(instructions string, input []byte) string {
	if instructions == "" {
		return string(input)
	}
	return instructions + "\n\n" + string(input)
}

type fixtureParser struct {
	answer string
	failed string
	usage  *task.Usage
}

func (p *fixtureParser) Line(line []byte) ([]wire.Event, bool) {
	var e fixture.Event
	if len(line) == 0 || line[0] != '{' || json.Unmarshal(line, &e) != nil {
		return nil, false
	}
	switch e.Type {
	case fixture.EventSession:
		text := "A new conversation."
		if e.Resumed {
			text = "The conversation of the earlier attempts goes on."
		}
		return []wire.Event{{Type: wire.EventStarted, Text: text, HarnessVersion: "fixture"}}, true
	case fixture.EventText:
		return []wire.Event{{Type: wire.EventMessage, Text: e.Text}}, true
	case fixture.EventCommand:
		return []wire.Event{{Type: wire.EventToolStarted, Tool: "command", ToolID: e.ID, Input: strings.Join(e.Argv, " ")}}, true
	case fixture.EventCommandDone:
		code := e.ExitCode
		return []wire.Event{{Type: wire.EventToolFinished, Tool: "command", ToolID: e.ID, Output: e.Output, ExitCode: &code, Failed: code != 0}}, true
	case fixture.EventUsage:
		free := 0.0
		p.usage = &task.Usage{InputTokens: int64(e.Input), OutputTokens: int64(e.Out), CostUSD: &free, CostKnown: true}
		return []wire.Event{{Type: wire.EventUsage, Usage: p.usage}}, true
	case fixture.EventAnswer:
		p.answer = e.Text
		return []wire.Event{{Type: wire.EventMessage, Text: e.Text}}, true
	case fixture.EventError:
		p.failed = e.Text
		return nil, true
	}
	return nil, false
}

func (p *fixtureParser) End(exitCode int) Outcome {
	switch {
	case p.failed != "":
		return Outcome{Kind: task.EndFailed, Answer: p.failed, Usage: p.usage}
	case exitCode != 0:
		return Outcome{Kind: task.EndFailed, Answer: exitText(exitCode), Usage: p.usage}
	case p.answer == "":
		return Outcome{Kind: task.EndNoOutput, Answer: "The agent ended without an answer.", Usage: p.usage}
	default:
		return Outcome{Kind: task.EndCompleted, Answer: p.answer, Usage: p.usage}
	}
}
