package agent

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"

	"companyos/shared/agent/broker"
	"companyos/shared/task"
	"companyos/shared/wire"
)

// claudeHarness runs Claude Code without a terminal. What the repository brings as settings, hooks, servers and commands is
// not loaded: it runs before anybody could refuse it, and can send the key elsewhere.
type claudeHarness struct{}

// claudeTools are those that work on the checkout. What reaches out, schedules or asks a person is not there.
const claudeTools = "Bash,Read,Edit,Write,Glob,Grep"

func (claudeHarness) Profile() Profile {
	return Profile{
		Program: "claude", Tested: "2.1.328", API: broker.Anthropic, Key: "ANTHROPIC_API_KEY", BaseURL: "ANTHROPIC_BASE_URL",
		Upstream: "https://api.anthropic.com",
		conversation: conversation{
			dir: ".claude/projects", pattern: "????????-????-????-????-????????????.jsonl",
			place: func(id string) string { return ".claude/projects/task/" + id + ".jsonl" },
			id:    claudeSession, said: claudeSaid,
		},
	}
}

func (claudeHarness) Command(in HarnessInput) (Command, error) {
	text, err := prompt(in.Instructions, in.Input, in.History)
	if err != nil {
		return Command{}, err
	}
	session := "--session-id"
	if in.Resume {
		session = "--resume"
	}
	allowed, servers, files := claudeTools, []string(nil), map[string]string(nil)
	if in.Tools != "" {
		allowed += ",mcp__company"
		servers = []string{"--mcp-config", filepath.Join(in.Home, claudeServers)}
		files = map[string]string{claudeServers: claudeToolServer(in)}
	}
	return Command{
		Files: files,
		Args: append([]string{
			in.Program, "-p", "--output-format", "stream-json", "--verbose", "--permission-mode", "dontAsk",
			"--tools", claudeTools, "--allowedTools", allowed, "--setting-sources", "", "--strict-mcp-config",
			"--disable-slash-commands", "--model", in.Model, session, in.Session,
		}, servers...),
		Env: append(modelEnvironment(in),
			"ANTHROPIC_BASE_URL="+in.Broker, "ANTHROPIC_API_KEY="+in.Token, "CLAUDE_CONFIG_DIR="+in.Home+"/.claude",
			"ANTHROPIC_SMALL_FAST_MODEL="+in.Model, "ANTHROPIC_DEFAULT_HAIKU_MODEL="+in.Model,
			"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1", "CLAUDE_CODE_MAX_RETRIES=6",
		),
		Stdin: []byte(text),
	}, nil
}

// claudeServers is the file that names the servers of tools, the only ones that are used.
const claudeServers = "servers.json"

func claudeToolServer(in HarnessInput) string {
	text, _ := json.Marshal(map[string]any{"mcpServers": map[string]any{"company": map[string]any{ // texts
		"type": "http", "url": in.Tools, "headers": map[string]string{"Authorization": "Bearer " + in.Token},
	}}})
	return string(text)
}

// modelEnvironment is what the agents of both providers share: the way to the declared hosts, and none to the broker's
// model API through it.
func modelEnvironment(in HarnessInput) []string {
	if in.Proxy == "" {
		return nil
	}
	return []string{
		"HTTPS_PROXY=" + in.Proxy, "https_proxy=" + in.Proxy, "NO_PROXY=127.0.0.1,localhost", "no_proxy=127.0.0.1,localhost",
	}
}

func (claudeHarness) Parser(in HarnessInput) Parser { return &claudeParser{in: in} }

// claudeLine is one line of the stream, as far as it is read.
type claudeLine struct {
	Type    string `json:"type"`
	Subtype string `json:"subtype"`
	Version string `json:"claude_code_version"`
	Message struct {
		Model   string          `json:"model"`
		Content json.RawMessage `json:"content"`
	} `json:"message"`
	Error  string `json:"error"` // of an assistant that is none, and of api_retry
	Status int    `json:"error_status"`
	Tool   string `json:"tool_name"`

	IsError  bool     `json:"is_error"`
	Result   string   `json:"result"`
	Errors   []string `json:"errors"`
	Terminal string   `json:"terminal_reason"`
	API      *int     `json:"api_error_status"`
	Stop     string   `json:"stop_reason"`
}

// claudePart is a part of a message's content.
type claudePart struct {
	Type    string          `json:"type"`
	Text    string          `json:"text"`
	ID      string          `json:"id"`
	Name    string          `json:"name"`
	Input   json.RawMessage `json:"input"`
	ToolUse string          `json:"tool_use_id"`
	Content json.RawMessage `json:"content"`
	IsError bool            `json:"is_error"`
}

type claudeParser struct {
	in    HarnessInput
	last  *claudeLine // the result
	error string      // of the last assistant that told of one
}

func (p *claudeParser) Line(line []byte) ([]wire.Event, bool) {
	var l claudeLine
	if line[0] != '{' || json.Unmarshal(line, &l) != nil || l.Type == "" {
		return nil, false
	}
	switch l.Type {
	case "system":
		return p.system(l), true
	case "assistant":
		if l.Error != "" {
			p.error = l.Error
			return nil, true
		}
		return claudeParts(l.Message.Content), true
	case "user":
		return claudeParts(l.Message.Content), true
	case "result":
		p.last = &l
	}
	return nil, true
}

func (p *claudeParser) system(l claudeLine) []wire.Event {
	switch l.Subtype {
	case "init":
		return []wire.Event{startedEvent(p.in, l.Version)}
	case "api_retry":
		return []wire.Event{{Type: wire.EventWarning, Text: fmt.Sprintf("The model is asked again after %s (%d).", l.Error, l.Status)}}
	case "permission_denied":
		return []wire.Event{{Type: wire.EventWarning, Text: "The agent was not allowed to use " + l.Tool + "."}}
	}
	return nil
}

// startedEvent is the first word of a harness.
func startedEvent(in HarnessInput, version string) wire.Event {
	text := "A new conversation."
	if in.Resume {
		text = "The conversation of the earlier attempts goes on."
	}
	return wire.Event{Type: wire.EventStarted, Text: text, HarnessVersion: version}
}

// claudeParts are the events of a message.
func claudeParts(content json.RawMessage) []wire.Event {
	var parts []claudePart
	if json.Unmarshal(content, &parts) != nil {
		return nil // a text that the harness itself said
	}
	var events []wire.Event
	for _, part := range parts {
		switch part.Type {
		case "text":
			if part.Text != "" {
				events = append(events, wire.Event{Type: wire.EventMessage, Text: part.Text})
			}
		case "tool_use":
			events = append(events, wire.Event{Type: wire.EventToolStarted, Tool: part.Name, ToolID: part.ID, Input: claudeInput(part.Input)})
		case "tool_result":
			events = append(events, wire.Event{Type: wire.EventToolFinished, ToolID: part.ToolUse, Output: claudeText(part.Content), Failed: part.IsError})
		}
	}
	return events
}

// claudeInput is a command as it is run, and any other input as it is.
func claudeInput(input json.RawMessage) string {
	var in struct {
		Command string `json:"command"`
	}
	if json.Unmarshal(input, &in) == nil && in.Command != "" {
		return in.Command
	}
	return string(input)
}

// claudeText is a content that is a text, or parts of which some are.
func claudeText(content json.RawMessage) string {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return text
	}
	var parts []claudePart
	_ = json.Unmarshal(content, &parts)
	var texts []string
	for _, part := range parts {
		if part.Text != "" {
			texts = append(texts, part.Text)
		}
	}
	return strings.Join(texts, "\n")
}

func (p *claudeParser) End(exitCode int) Outcome {
	r := p.last
	if r == nil {
		return Outcome{Kind: task.EndFailed, Answer: exitText(exitCode) + " It gave no result; the log may say why."}
	}
	if !r.IsError && r.Subtype == "success" && exitCode == 0 {
		return answered(r.Result)
	}
	text := cmp.Or(r.Result, strings.Join(r.Errors, "\n"), "The agent ended with "+cmp.Or(r.Terminal, r.Subtype)+".")
	return Outcome{Kind: p.kind(r), Answer: text}
}

// kind finds the reason: an error of the model's API is still called a success by its subtype.
func (p *claudeParser) kind(r *claudeLine) task.EndKind {
	switch {
	case r.Subtype == "error_max_budget_usd":
		return task.EndBudgetExhausted
	case r.Terminal == "prompt_too_long":
		return task.EndContextExceeded
	case p.error == "billing_error":
		return task.EndUsageLimit
	case r.Stop == "refusal":
		return task.EndModelRejected
	case r.API == nil:
		return task.EndFailed
	}
	switch status := *r.API; {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return task.EndModelUnauthorized
	case status == http.StatusTooManyRequests:
		return task.EndUsageLimit
	case status >= 500:
		return task.EndModelUnavailable
	default:
		return task.EndModelRejected
	}
}

// claudeSession is the session that a line of the conversation's file names.
func claudeSession(line []byte) string {
	var l struct {
		Session string `json:"sessionId"`
	}
	if json.Unmarshal(line, &l) != nil || !sessionID.MatchString(l.Session) {
		return ""
	}
	return l.Session
}

// claudeSaid is what a line of the conversation's file says.
func claudeSaid(line []byte) (who, text string) {
	var l claudeLine
	if json.Unmarshal(line, &l) != nil || l.Type != "user" && l.Type != "assistant" {
		return "", ""
	}
	return l.Type, claudeText(l.Message.Content)
}
