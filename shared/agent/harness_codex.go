package agent

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"companyos/shared/agent/broker"
	"companyos/shared/task"
	"companyos/shared/wire"
)

// codexHarness runs Codex without a terminal. Its own sandbox is off, since this one is around it; the checkout's
// .codex is not trusted, so it is not loaded.
type codexHarness struct{}

func (codexHarness) Profile() Profile {
	return Profile{
		Program: "codex", Tested: "0.169.0", API: broker.OpenAI, Key: "OPENAI_API_KEY", BaseURL: "OPENAI_BASE_URL",
		Upstream: "https://api.openai.com",
		conversation: conversation{
			dir: ".codex/sessions", pattern: "rollout-*.jsonl",
			place: func(id string) string {
				return ".codex/sessions/2026/01/01/rollout-2026-01-01T00-00-00-" + id + ".jsonl"
			},
			id: codexSession, said: codexSaid, failed: codexFailed,
		},
	}
}

// codexTokenEnv holds the broker's token for Codex.
const codexTokenEnv = "COMPANY_MODEL_TOKEN" //nolint:gosec // its name

func (codexHarness) Command(in HarnessInput) (Command, error) {
	text, err := prompt(in.Instructions, in.Input, in.History)
	if err != nil {
		return Command{}, err
	}
	args := []string{in.Program, "exec"}
	if in.Resume {
		args = append(args, "resume")
	}
	args = append(args, "--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox")
	if in.Resume {
		args = append(args, in.Session)
	}
	return Command{
		Args:  append(args, "-"), // the prompt is on standard input
		Env:   append(modelEnvironment(in), "CODEX_HOME="+in.Home+"/.codex", codexTokenEnv+"="+in.Token),
		Stdin: []byte(text),
		Files: map[string]string{".codex/config.toml": codexConfig(in)},
	}, nil
}

// codexConfig is the whole configuration. Without unbounded_connection_retries it would wait for a network for ever.
func codexConfig(in HarnessInput) string {
	config := fmt.Sprintf(`model = %s
model_provider = "company"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
web_search = "disabled"

[analytics]
enabled = false

[features]
plugins = false
apps = false
unbounded_connection_retries = false

[shell_environment_policy]
inherit = "all"
exclude = [%q]

[model_providers.company]
name = "company"
base_url = %s
env_key = %q
wire_api = "responses"
request_max_retries = 4
stream_max_retries = 4
stream_idle_timeout_ms = 240000
`, strconv.Quote(in.Model), codexTokenEnv, strconv.Quote(in.Broker+"/v1"), codexTokenEnv)
	if in.Tools != "" {
		config += fmt.Sprintf("\n[mcp_servers.company]\nurl = %s\nbearer_token_env_var = %q\n", strconv.Quote(in.Tools), codexTokenEnv)
	}
	return config
}

func (codexHarness) Parser(in HarnessInput) Parser { return &codexParser{in: in} }

// codexLine is one line of the stream, as far as it is read.
type codexLine struct {
	Type    string     `json:"type"`
	Item    *codexItem `json:"item"`
	Message string     `json:"message"`
	Error   struct {
		Message string `json:"message"`
	} `json:"error"`
}

// codexItem is something that the agent said or did.
type codexItem struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Text     string `json:"text"`
	Message  string `json:"message"`
	Command  string `json:"command"`
	Output   string `json:"aggregated_output"`
	ExitCode *int   `json:"exit_code"`
	Status   string `json:"status"`
	Changes  []struct {
		Path string `json:"path"`
		Kind string `json:"kind"`
	} `json:"changes"`
	Server string `json:"server"`
	Tool   string `json:"tool"`
}

type codexParser struct {
	in     HarnessInput
	answer string
	failed string // the turn
	error  string // the last one that was told
	done   bool   // the turn ended well
}

func (p *codexParser) Line(line []byte) ([]wire.Event, bool) {
	var l codexLine
	if line[0] != '{' || json.Unmarshal(line, &l) != nil || l.Type == "" {
		return nil, false
	}
	switch l.Type {
	case "thread.started":
		return []wire.Event{startedEvent(p.in, "")}, true
	case "item.started":
		if l.Item != nil && l.Item.tool() != "" {
			return []wire.Event{{Type: wire.EventToolStarted, Tool: l.Item.tool(), ToolID: l.Item.ID, Input: l.Item.Command}}, true
		}
	case "item.completed":
		if l.Item != nil {
			return p.completed(l.Item), true
		}
	case "turn.completed":
		p.done = true
	case "turn.failed":
		p.failed = cmp.Or(l.Error.Message, "The turn failed.")
	case "error":
		p.error = l.Message
		if strings.HasPrefix(l.Message, "Reconnecting") {
			return []wire.Event{{Type: wire.EventWarning, Text: l.Message}}, true
		}
	}
	return nil, true
}

func (p *codexParser) completed(item *codexItem) []wire.Event {
	switch item.Type {
	case "agent_message":
		p.answer = item.Text
		return []wire.Event{{Type: wire.EventMessage, Text: item.Text}}
	case "error": // a warning by its meaning: the turn goes on
		return []wire.Event{{Type: wire.EventWarning, Text: item.Message}}
	}
	if item.tool() == "" {
		return nil
	}
	e := wire.Event{
		Type: wire.EventToolFinished, Tool: item.tool(), ToolID: item.ID, Output: item.Output, ExitCode: item.ExitCode, Failed: item.Status == "failed",
	}
	for _, change := range item.Changes {
		e.Output += change.Kind + " " + change.Path + "\n"
	}
	return []wire.Event{e}
}

// tool names what an item used, empty for one that used nothing.
func (i *codexItem) tool() string {
	switch i.Type {
	case "command_execution":
		return "command"
	case "file_change":
		return "file_change"
	case "mcp_tool_call":
		return i.Server + "." + i.Tool
	}
	return ""
}

func (p *codexParser) End(exitCode int) Outcome {
	switch {
	case p.done && p.failed == "" && exitCode == 0:
		return answered(p.answer)
	case p.failed != "" || p.error != "":
		return Outcome{Kind: task.EndFailed, Answer: cmp.Or(p.failed, p.error)}
	default:
		return Outcome{Kind: task.EndFailed, Answer: exitText(exitCode) + " It gave no result; the log may say why."}
	}
}

// sessionID is the form of both agents' sessions.
var sessionID = regexp.MustCompile(`\A[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\z`)

// codexRecord is one line of the conversation's file.
type codexRecord struct {
	Type    string `json:"type"`
	Payload struct {
		ID      string          `json:"id"`
		Type    string          `json:"type"`
		Role    string          `json:"role"`
		Message string          `json:"message"`
		Error   json.RawMessage `json:"error"`
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
	} `json:"payload"`
}

func codexSession(line []byte) string {
	var r codexRecord
	if json.Unmarshal(line, &r) != nil || r.Type != "session_meta" || !sessionID.MatchString(r.Payload.ID) {
		return ""
	}
	return r.Payload.ID
}

func codexSaid(line []byte) (who, text string) {
	var r codexRecord
	if json.Unmarshal(line, &r) != nil || r.Type != "response_item" || r.Payload.Type != "message" || r.Payload.Role == "developer" {
		return "", ""
	}
	var texts []string
	for _, part := range r.Payload.Content {
		texts = append(texts, part.Text)
	}
	return r.Payload.Role, strings.Join(texts, "\n")
}

// codexKinds sorts what the conversation's file calls a failure. What is not here says no more than the stream did.
var codexKinds = map[string]task.EndKind{
	"usage_limit_exceeded": task.EndUsageLimit, "rate_limit_exceeded": task.EndUsageLimit, "response_too_many_failed_attempts": task.EndUsageLimit,
	"context_window_exceeded": task.EndContextExceeded, "server_overloaded": task.EndModelUnavailable, "internal_server_error": task.EndModelUnavailable,
}

// codexFailed is why a turn failed, which only the conversation's file tells. A turn that ended well clears it.
func codexFailed(line []byte) (task.EndKind, bool) {
	var r codexRecord
	if json.Unmarshal(line, &r) != nil || r.Payload.Type != "task_complete" {
		return "", false
	}
	var e struct {
		Info json.RawMessage `json:"codex_error_info"`
	}
	if json.Unmarshal(r.Payload.Error, &e) != nil || len(e.Info) == 0 {
		return "", true
	}
	var word string
	if json.Unmarshal(e.Info, &word) == nil {
		return codexKinds[word], true
	}
	var detail map[string]struct {
		Status int `json:"http_status_code"`
	}
	_ = json.Unmarshal(e.Info, &detail)
	for word, d := range detail {
		if d.Status == 401 || d.Status == 403 {
			return task.EndModelUnauthorized, true
		}
		return codexKinds[word], true
	}
	return "", true
}
