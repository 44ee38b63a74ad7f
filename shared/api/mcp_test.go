package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"companyos/shared/company"
	"companyos/shared/task"
	"companyos/shared/wire"
)

// withBearer adds a token to every request.
type withBearer string

func (b withBearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// connect opens the tools as an agent's client does.
func (c *office) connect(bearer string) *mcp.ClientSession {
	c.t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(c.t.Context(), &mcp.StreamableClientTransport{
		Endpoint: c.server.URL + "/mcp", HTTPClient: &http.Client{Transport: withBearer(bearer)}, DisableStandaloneSSE: true, MaxRetries: -1,
	}, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = session.Close() })
	return session
}

func (c *office) toolNames(s *mcp.ClientSession) string {
	c.t.Helper()
	list, err := s.ListTools(c.t.Context(), nil)
	if err != nil {
		c.t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// tool calls a tool and returns its answer, or what it refused with.
func (c *office) tool(s *mcp.ClientSession, name string, in any) (answer map[string]any, refusal string) {
	c.t.Helper()
	result, err := s.CallTool(c.t.Context(), &mcp.CallToolParams{Name: name, Arguments: in})
	if err != nil {
		return nil, err.Error()
	}
	text := result.Content[0].(*mcp.TextContent).Text
	if result.IsError {
		return nil, text
	}
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		c.t.Fatalf("%s: %v in %s", name, err, text)
	}
	structured, _ := json.Marshal(result.StructuredContent)
	var same map[string]any
	if err := json.Unmarshal(structured, &same); err != nil || fmt.Sprint(same) != fmt.Sprint(answer) {
		c.t.Errorf("%s: the structured answer differs: %s", name, structured)
	}
	return answer, ""
}

const everyTool = "get_attention get_run get_task list_decisions list_executors list_products list_projects list_sources list_tasks " +
	"list_wiki_pages propose_project propose_task read_wiki_page record_decision write_wiki_page"

func TestToolsOfPeople(t *testing.T) {
	t.Parallel()
	c := setup(t)
	product, project, _ := c.task()
	alice := c.connect(token(t, "alice", everything))
	if got := c.toolNames(alice); got != everyTool {
		t.Errorf("alice has %s", got)
	}
	if got := c.toolNames(c.connect(token(t, "bob", []string{"tasks:read"}))); got != "get_attention get_run get_task list_executors list_tasks" {
		t.Errorf("bob has %s", got)
	}
	if got := c.toolNames(c.connect(token(t, "eve", nil))); got != "" {
		t.Errorf("eve has %s", got)
	}
	if _, refusal := c.tool(c.connect(token(t, "bob", []string{"tasks:read"})), "propose_task", map[string]any{"title": "x", "project_id": project}); refusal == "" {
		t.Error("a tool without its scope works")
	}
	proposed, refusal := c.tool(alice, "propose_task", map[string]any{
		"product_id": product, "project_id": project, "title": "Found", "brief": "why",
		"evidence": []any{map[string]any{"link": "x"}}, "executor_type": "agent", "executor_id": "writer",
	})
	if refusal != "" || proposed["status"] != "backlog" || proposed["origin"] != "human" || proposed["user_id"] != "alice" {
		t.Errorf("proposed: %s %v", refusal, proposed)
	}
	project2, refusal := c.tool(alice, "propose_project", map[string]any{"product_id": product, "name": "Next"})
	if refusal != "" || project2["status"] != "proposed" {
		t.Errorf("project: %s %v", refusal, project2)
	}
	page, refusal := c.tool(alice, "write_wiki_page", map[string]any{"product_id": product, "path": "notes.md", "content": "# N", "expected_version": 0})
	if refusal != "" || page["version"] != 1.0 {
		t.Errorf("page: %s %v", refusal, page)
	}
	decision, refusal := c.tool(alice, "record_decision", map[string]any{"decision": "Go"})
	if refusal != "" || decision["user_id"] != "alice" || decision["agent_id"] != nil {
		t.Errorf("decision: %s %v", refusal, decision)
	}
	for _, call := range []struct {
		name string
		in   map[string]any
		want string // part of the answer
	}{
		{"list_products", map[string]any{"limit": 1}, `"total_count":1`},
		{"list_projects", map[string]any{"product_id": product, "status": "proposed"}, `"total_count":2`},
		{"list_tasks", map[string]any{"limit": 1}, `"next_cursor":`},
		{"list_tasks", map[string]any{"status": "done"}, `"data":[]`},
		{"list_sources", map[string]any{}, `"data":[]`},
		{"list_wiki_pages", map[string]any{"product_id": product}, `"path":"notes.md"`},
		{"read_wiki_page", map[string]any{"path": "brief.md"}, `Shared company context`},
		{"list_decisions", map[string]any{"query": "go"}, `"decision":"Go"`},
		{"get_attention", map[string]any{}, `"proposals":2`},
		{"list_executors", map[string]any{}, `"id":"engineer"`},
		{"get_task", map[string]any{"task_id": proposed["id"]}, `"title":"Found"`},
	} {
		answer, refusal := c.tool(alice, call.name, call.in)
		raw, _ := json.Marshal(answer)
		if refusal != "" || !strings.Contains(string(raw), call.want) {
			t.Errorf("%s %v: %s %s, want %s", call.name, call.in, refusal, raw, call.want)
		}
	}
	for _, call := range []struct {
		name string
		in   map[string]any
		want string
	}{
		{"get_task", map[string]any{"task_id": "none"}, "Task not found (not_found)"},
		{"get_task", map[string]any{"task_id": "a\x00"}, "Task not found (not_found)"},
		{"get_task", map[string]any{}, "task_id"},
		{"get_run", map[string]any{"run_id": "none"}, "Company run not found"},
		{"list_tasks", map[string]any{"cursor": "x"}, "next_cursor"},
		{"list_tasks", map[string]any{"product": "x"}, "product"},
		{"propose_task", map[string]any{"product_id": product, "project_id": project, "title": " "}, "title must be a non-empty string"},
		{"propose_task", map[string]any{"product_id": product, "project_id": project, "title": "a\x00"}, "NUL"},
		{"propose_task", map[string]any{"product_id": "none", "project_id": project, "title": "x"}, "Product not found"},
		{"propose_task", map[string]any{"product_id": product, "project_id": project, "title": "x", "executor_type": "robot"}, "executor_type"},
		{"write_wiki_page", map[string]any{"product_id": product, "path": "notes.md", "content": "x", "expected_version": 7}, "version conflict on notes.md: expected 7, actual 1"},
		{"write_wiki_page", map[string]any{"product_id": "company", "path": "brief.md", "content": "x", "expected_version": 1}, "Product not found"},
		{"record_decision", map[string]any{"decision": "  "}, "decision must be non-empty"},
		{"accept_task", map[string]any{}, "accept_task"},
	} {
		if answer, refusal := c.tool(alice, call.name, call.in); !strings.Contains(refusal, call.want) {
			t.Errorf("%s %v: %q %v, want %s", call.name, call.in, refusal, answer, call.want)
		}
	}
}

// TestToolsOfRuns: a run sees its own Product, proposes and reports, and can do nothing else; and only while it works.
func TestToolsOfRuns(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c := setup(t)
	product, project, taskID := c.task()
	other, otherProject, otherTask := c.task()
	people := c.client("alice")
	must[wire.SourceRecord](t)(people.CreateSource(ctx, wire.SourceCreate{ProductID: product, Source: wire.Source{Type: company.SourceGit, Reference: repository}}))
	kind, executorID := task.ExecutorAgent, "engineer"
	must[wire.Task](t)(people.MoveTask(ctx, taskID, wire.TaskTransition{Target: task.StatusReady, Reason: "go", ExecutorType: &kind, ExecutorID: &executorID}))
	started := must[wire.Started](t)(people.StartRun(ctx, taskID, wire.TaskRunCreate{}))
	_, claimed := c.launch(ctx, started.RunID, "one")
	run := c.connect(claimed.Session)
	const own = "get_run get_task list_executors list_products list_projects list_sources list_tasks list_wiki_pages propose_task read_wiki_page record_decision"
	if got := c.toolNames(run); got != own {
		t.Errorf("a run has %s", got)
	}
	for _, call := range []struct {
		name string
		in   map[string]any
		want string // part of the answer; "!" and part of the refusal
	}{
		{"list_products", nil, `"total_count":1`},
		{"list_tasks", nil, `"total_count":1`},
		{"list_projects", map[string]any{"product_id": product}, `"total_count":1`},
		{"get_task", map[string]any{"task_id": taskID}, `"in_progress"`},
		{"get_run", map[string]any{"run_id": started.RunID}, started.RunID},
		{"list_wiki_pages", map[string]any{"product_id": product}, `brief.md`},
		{"read_wiki_page", map[string]any{"path": "brief.md"}, `Shared company context`},
		{"list_tasks", map[string]any{"product_id": other}, "!Product not found"},
		{"list_tasks", map[string]any{"project_id": otherProject}, `"data":[]`},
		{"list_sources", map[string]any{"product_id": other}, "!Product not found"},
		{"list_executors", map[string]any{"product_id": other}, "!Product not found"},
		{"get_task", map[string]any{"task_id": otherTask}, "!Task not found"},
		{"read_wiki_page", map[string]any{"product_id": other, "path": "brief.md"}, "!Product not found"},
		{"list_wiki_pages", map[string]any{"product_id": other}, "!Product not found"},
		{"propose_task", map[string]any{"product_id": other, "project_id": otherProject, "title": "x"}, "!Product not found"},
		{"propose_task", map[string]any{"project_id": otherProject, "title": "x"}, "!Task and Project must belong to the same Product"},
		{"write_wiki_page", map[string]any{"path": "brief.md", "content": "x", "expected_version": 1}, "!write_wiki_page"},
		{"propose_project", map[string]any{"product_id": product, "name": "x"}, "!propose_project"},
		{"list_decisions", nil, "!list_decisions"},
	} {
		answer, refusal := c.tool(run, call.name, call.in)
		raw, _ := json.Marshal(answer)
		if want, refused := strings.CutPrefix(call.want, "!"); refused && !strings.Contains(refusal, want) || !refused && !strings.Contains(string(raw), want) {
			t.Errorf("%s %v: %q %s, want %s", call.name, call.in, refusal, raw, call.want)
		}
	}
	proposal := map[string]any{"project_id": project, "title": "Found"}
	first, refusal := c.tool(run, "propose_task", proposal)
	if refusal != "" || first["status"] != "backlog" || first["origin"] != "product_manager" || first["user_id"] != "alice" || first["product_id"] != product {
		t.Errorf("proposed: %s %v", refusal, first)
	}
	if again, _ := c.tool(run, "propose_task", proposal); again["id"] != first["id"] {
		t.Errorf("proposed again: %v", again)
	}
	for n := range 19 {
		if _, refusal := c.tool(run, "propose_task", map[string]any{"project_id": project, "title": fmt.Sprint(n)}); refusal != "" {
			t.Errorf("proposal %d: %s", n, refusal)
		}
	}
	if _, refusal := c.tool(run, "propose_task", map[string]any{"project_id": project, "title": "one too many"}); !strings.Contains(refusal, "A run may propose 20 Tasks") {
		t.Errorf("one too many: %s", refusal)
	}
	decision, refusal := c.tool(run, "record_decision", map[string]any{"decision": "Mine"})
	if refusal != "" || decision["agent_id"] != executorID || decision["session_id"] != started.SessionID || decision["user_id"] != "alice" {
		t.Errorf("decision: %s %v", refusal, decision)
	}
	if err := people.CancelRun(ctx, started.RunID); err != nil {
		t.Fatal(err)
	}
	if a := c.send("POST", "/mcp", "Bearer "+claimed.Session, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); a.status != 401 {
		t.Errorf("after its end: %d %s", a.status, a.raw)
	}
	if total := c.total("/company/tasks?product_id=" + other); total != 1 {
		t.Errorf("the other Product has %v Tasks", total)
	}
}

func TestToolsOverHTTP(t *testing.T) {
	t.Parallel()
	c := setup(t)
	alice := "Bearer " + token(t, "alice", everything)
	launch := "Bearer cl1.0b0e7a3c-6a7e-4f0e-9d0b-6f1d3f0a2b11.1." + strings.Repeat("A", 43)
	session := "Bearer cs1.0b0e7a3c-6a7e-4f0e-9d0b-6f1d3f0a2b11.1." + strings.Repeat("A", 43)
	list := `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	for _, r := range []struct {
		method, bearer, body string
		status               int
	}{
		{"POST", "", list, 401},
		{"POST", "Bearer x", list, 401},
		{"POST", launch, list, 401},
		{"POST", session, list, 401},
		{"POST", alice, list, 200},
		{"POST", alice, "{", 400},
		{"POST", alice, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_task","arguments":{"task_id":"` + strings.Repeat("x", 1<<20) + `"}}}`, 413},
		{"GET", alice, "", 405},
		{"DELETE", alice, "", 405},
	} {
		req := httptest.NewRequest(r.method, "/mcp", strings.NewReader(r.body))
		req.Header.Set("Authorization", r.bearer)
		req.Header.Set("Accept", "application/json, text/event-stream")
		req.Header.Set("Content-Type", "application/json")
		if r.bearer == "" {
			req.Header.Del("Authorization")
		}
		if a := c.do(req); a.status != r.status {
			t.Errorf("%s %.40s %.60s: %d %.200s, want %d", r.method, r.bearer, r.body, a.status, a.raw, r.status)
		}
	}
}
