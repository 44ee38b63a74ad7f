package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"companyos/shared/task"
	"companyos/shared/wire"
)

// replay reads a recorded stream, whose last line is the exit code.
func replay(t *testing.T, harness, name string) (events []wire.Event, o Outcome) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "stream", harness+"-"+name+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.LastIndex(raw, []byte("exit "))
	stream, exit := string(raw[:at]), string(raw[at+len("exit "):])
	code, err := strconv.Atoi(strings.TrimSpace(exit))
	if err != nil {
		t.Fatal(err)
	}
	parser := harnesses()[harness].Parser(HarnessInput{})
	err = eachLine(strings.NewReader(stream), func(line []byte) {
		e, known := parser.Line(line)
		if !known {
			t.Errorf("%s-%s: a line is not known: %.200s", harness, name, line)
		}
		events = append(events, e...)
	})
	if err != nil {
		t.Fatal(err)
	}
	return events, parser.End(code)
}

func TestRecordedStreams(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		events string
		kind   task.EndKind
		answer string
	}{
		"claude-ok":      {"started tool_started tool_finished message", task.EndCompleted, "It says: hello"},
		"codex-ok":       {"started warning tool_started tool_finished message", task.EndCompleted, "It says: hello"},
		"claude-fails":   {"started tool_started tool_finished message", task.EndCompleted, "It failed."},
		"codex-fails":    {"started warning tool_started tool_finished message", task.EndCompleted, "It failed."},
		"claude-refused": {"started warning", task.EndModelUnauthorized, "401 invalid key"},
		"codex-refused":  {"started warning warning warning warning warning", task.EndFailed, "401 Unauthorized"},
		"claude-quota":   {"started warning", task.EndUsageLimit, "429"},
		"codex-quota":    {"started warning", task.EndFailed, "Quota exceeded"},
		"claude-long":    {"started", task.EndContextExceeded, "Prompt is too long"},
		"codex-long":     {"started warning", task.EndFailed, "prompt is too long"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			harness, scenario, _ := strings.Cut(name, "-")
			events, o := replay(t, harness, scenario)
			var types []string
			for _, e := range events {
				types = append(types, string(e.Type))
				if e.Type == wire.EventToolFinished && e.Failed != (scenario == "fails") {
					t.Errorf("tool %+v", e)
				}
				if e.Type == wire.EventToolStarted && !strings.Contains(e.Input, "echo") {
					t.Errorf("tool %+v", e)
				}
			}
			if got := strings.Join(types, " "); got != tt.events {
				t.Errorf("events %q, want %q", got, tt.events)
			}
			if o.Kind != tt.kind || !strings.Contains(o.Answer, tt.answer) {
				t.Errorf("outcome %+v", o)
			}
		})
	}
}

// TestRecordedConversations: the session is found, the text can be told to another one, and Codex's reason is in its file
// alone. A torn end is left out.
func TestRecordedConversations(t *testing.T) {
	t.Parallel()
	for name, kind := range map[string]task.EndKind{
		"claude-ok": "", "codex-ok": "", "codex-fails": "", "claude-quota": "",
		"codex-refused": task.EndModelUnauthorized, "codex-quota": task.EndUsageLimit, "codex-long": "",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			raw, err := os.ReadFile(filepath.Join("testdata", "stream", name+".conversation.jsonl"))
			if err != nil {
				t.Fatal(err)
			}
			harness, scenario, _ := strings.Cut(name, "-")
			c := harnesses()[harness].Profile().conversation
			r, err := c.read(raw)
			if err != nil || r.torn || !sessionID.MatchString(r.id) {
				t.Errorf("%+v %v", r.id, err)
			}
			if scenario == "ok" && (!strings.Contains(r.history, "Say hello.") || !strings.Contains(r.history, "It says: hello")) {
				t.Errorf("history %q", r.history)
			}
			if got, known := c.kind(bytes.NewReader(raw)); got != kind || known != (kind != "") {
				t.Errorf("kind %q %t, want %q", got, known, kind)
			}
			torn, err := c.read(raw[:len(raw)-30])
			if err != nil || !torn.torn || torn.id != r.id || !bytes.HasPrefix(raw, torn.content) || torn.content[len(torn.content)-1] != '\n' {
				t.Errorf("torn: %t %v", torn.torn, err)
			}
		})
	}
	for _, garbage := range []string{"", "x", "{}\n", "\x00\x00\n", `{"sessionId":"../../etc/passwd"}` + "\n", `{"type":"session_meta","payload":{"id":"../x"}}` + "\n"} {
		for _, harness := range []string{"claude", "codex"} {
			if r, err := harnesses()[harness].Profile().conversation.read([]byte(garbage)); err == nil {
				t.Errorf("%s took %q as session %q", harness, garbage, r.id)
			}
		}
	}
}

// TestGarbage: no line breaks a parser, and what is not the harness's goes to the log.
func TestGarbage(t *testing.T) {
	t.Parallel()
	lines := []string{
		"plain text", "{", "{}", "[]", "null", `{"type":5}`, `{"type":"item.completed"}`, `{"type":"assistant","message":{"content":5}}`,
		`{"type":"result","usage":"x"}`, `{"type":"user","message":{"content":[5,{"type":"tool_result","content":{"a":1}}]}}`, "\xff\xfe", `{"type":"new_thing"}`,
	}
	for _, harness := range []string{"claude", "codex", "fixture"} {
		parser := harnesses()[harness].Parser(HarnessInput{})
		for _, line := range lines {
			_, known := parser.Line([]byte(line))
			if known && !json.Valid([]byte(line)) {
				t.Errorf("%s knows %q", harness, line)
			}
		}
		if o := parser.End(0); o.Kind == task.EndCompleted {
			t.Errorf("%s completed: %+v", harness, o)
		}
	}
}

// TestLines: a JSON line of any length stays one, with its long texts shortened; what is no JSON is cut.
func TestLines(t *testing.T) {
	t.Parallel()
	long := strings.Repeat(`a\"\\ü\u00e4`, 5<<20/14)
	stream := fmt.Sprintf("{\"type\":\"result\",\"result\":\"%s\",\"subtype\":\"success\"}\r\n%s\n\nlast", long, strings.Repeat("x", 3<<20))
	var lines []string
	if err := eachLine(strings.NewReader(stream), func(line []byte) { lines = append(lines, string(line)) }); err != nil {
		t.Fatal(err)
	}
	if len(lines) != 3 || lines[2] != "last" || len(lines[1]) != lineLimit {
		t.Fatalf("%d lines", len(lines))
	}
	var l claudeLine
	if err := json.Unmarshal([]byte(lines[0]), &l); err != nil || l.Subtype != "success" {
		t.Fatalf("%v in %d bytes", err, len(lines[0]))
	}
	if n := len(l.Result); n < stringLimit/3 || n > stringLimit || !strings.HasPrefix(l.Result, `a"\ü`) {
		t.Errorf("the text has %d bytes", n)
	}
	for cut := range 24 { // a cut in each part of an escape
		text := strings.Repeat("x", stringLimit-cut) + `\u00e4\\\"üé\n` + strings.Repeat("y", 100)
		_ = eachLine(strings.NewReader(`{"a":"`+text+`","b":1}`), func(line []byte) {
			if !json.Valid(line) {
				t.Errorf("cut at %d: %q", cut, line[len(line)-60:])
			}
		})
	}
}

func TestPrompt(t *testing.T) {
	t.Parallel()
	in := `{"brief":"Fix the bug.","wiki":[{"namespace":"company","path":"style","content":"Plainly."}],"evidence":[{"url":"https://x"}],
		"execution_context":{"stage":"accepted_task_execution","instructions":"Do the work.","attempt":2,"revision_reasons":["Too long.","And late."],
		"previous_result":{"status":"COMPLETED","content":"I fixed it."}},"script":{"secret":"of the fixture"}}`
	got, err := prompt("You are careful.", []byte(in), "user: earlier words")
	if err != nil {
		t.Fatal(err)
	}
	at := -1
	for _, part := range []string{
		"You work in a checkout", "You are careful.", "accepted_task_execution, attempt 2", "Do the work.", "Fix the bug.", "company: style", "Plainly.",
		"https://x", "earlier words", "I fixed it.", "Too long.\n\nAnd late.",
	} {
		next := strings.Index(got, part)
		if next < at || next < 0 {
			t.Errorf("%q is missing or in another place", part)
		}
		at = next
	}
	if strings.Contains(got, "fixture") {
		t.Error("the script of a fixture is told")
	}
	bare, err := prompt("", []byte(`{"brief":null}`), "")
	if err != nil || strings.Contains(bare, "# Brief") || strings.Contains(bare, "reviewer's reason for") || strings.Contains(bare, "Earlier") {
		t.Errorf("%q %v", bare, err)
	}
	if _, err := prompt("", []byte("no JSON"), ""); err == nil {
		t.Error("an unreadable input is taken")
	}
}
