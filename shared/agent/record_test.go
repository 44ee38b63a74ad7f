//go:build record && linux

package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"

	"companyos/shared/agent/modeltest"
)

// TestRecord writes testdata/stream: what the real command lines print, and the conversations that they keep, against the
// scripted model. ci/record.sh runs it when a version changes; the tests without this tag read what it wrote.
func TestRecord(t *testing.T) {
	for name, steps := range map[string][]modeltest.Step{
		"ok":      {{Run: "echo hello"}, {Say: "It says: {tool}"}},
		"fails":   {{Run: "echo oops >&2; exit 3"}, {Say: "It failed."}},
		"refused": {{Fault: &modeltest.Fault{Status: 401, Body: `{"type":"error","error":{"type":"authentication_error","message":"invalid key"}}`}}},
		"quota":   {{Fault: &modeltest.Fault{Status: 429, Body: `{"type":"error","error":{"type":"rate_limit_error","code":"insufficient_quota","message":"quota used up"}}`}}},
		"long":    {{Fault: &modeltest.Fault{Status: 400, Body: `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 2 tokens > 1 maximum"}}`}}},
	} {
		for kind, harness := range harnesses() {
			if program := harness.Profile().Program; program != "" {
				record(t, harness, kind+"-"+name, steps)
			}
		}
	}
}

func record(t *testing.T, harness Harness, name string, steps []modeltest.Step) {
	model, err := modeltest.Start("127.0.0.1:0", steps...)
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	home, workspace := t.TempDir(), t.TempDir()
	program, err := exec.LookPath(harness.Profile().Program)
	if err != nil {
		t.Fatal(err)
	}
	command, err := harness.Command(HarnessInput{
		Program: program, Session: uuid.NewString(), Model: "claude-sonnet-4-6", Input: []byte(`{"brief":"Say hello."}`),
		Home: home, Workspace: workspace, Broker: model.URL, Token: "none",
	})
	if err != nil {
		t.Fatal(err)
	}
	for file, content := range command.Files {
		_ = os.MkdirAll(filepath.Dir(filepath.Join(home, file)), 0o700)
		if err := os.WriteFile(filepath.Join(home, file), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), command.Args[0], command.Args[1:]...)
	cmd.Dir, cmd.Stdin = workspace, bytes.NewReader(command.Stdin)
	cmd.Env = append([]string{"HOME=" + home, "PATH=/usr/bin:/bin", "TMPDIR=" + home, "LANG=C.UTF-8"}, command.Env...)
	cmd.Env = append(cmd.Env, "CLAUDE_CODE_MAX_RETRIES=1")
	out, err := cmd.Output()
	stable := strings.NewReplacer(workspace, "/workspace", home, "/home/agent", program, harness.Profile().Program, model.URL, "http://127.0.0.1:1")
	dir := filepath.Join("testdata", "stream")
	stream := stable.Replace(string(out)) + fmt.Sprintf("exit %d\n", cmd.ProcessState.ExitCode())
	if err := os.WriteFile(filepath.Join(dir, name+".jsonl"), []byte(stream), 0o644); err != nil {
		t.Fatal(err)
	}
	var kept bytes.Buffer
	c := harness.Profile().conversation
	printNewest(filepath.Join(home, c.dir), c.pattern, &kept)
	var short strings.Builder
	for line := range strings.Lines(stable.Replace(kept.String())) {
		var v any
		if json.Unmarshal([]byte(line), &v) != nil {
			t.Fatalf("not JSON: %.100s", line)
		}
		text, _ := json.Marshal(shorten(v))
		short.Write(append(text, '\n'))
	}
	if err := os.WriteFile(filepath.Join(dir, name+".conversation.jsonl"), []byte(short.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// shorten cuts the texts of a record: Claude Code and Codex keep their whole prompts.
func shorten(v any) any {
	switch v := v.(type) {
	case string:
		return cut(v, 600)
	case []any:
		for i := range v {
			v[i] = shorten(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = shorten(v[name])
		}
	}
	return v
}
