package api_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"companyos/shared/api"
	"companyos/shared/app"
	"companyos/shared/store"
)

func TestRefusedArchive(t *testing.T) {
	t.Parallel()
	c := setup(t)
	product, project, taskID := c.task()
	c.want(200, "POST", "/company/tasks/"+taskID+"/transitions", `{"target":"ready","reason":"go","executor_type":"agent","executor_id":"writer"}`)
	for _, p := range []string{"/company/products/" + product, "/company/projects/" + project} {
		a := c.want(409, "DELETE", p, nil)
		want := map[string]any{"message": "Cannot archive with active Tasks", "tasks": []any{map[string]any{"id": taskID, "title": "Try"}}}
		if fmt.Sprint(a.detail()) != fmt.Sprint(want) {
			t.Errorf("%s: %s", p, a.raw)
		}
	}
	a := c.want(409, "POST", "/company/projects/"+project+"/transitions", `{"target":"done","reason":"r"}`)
	if a.detail() != "Invalid project transition from proposed to done" {
		t.Errorf("a wrong edge: %s", a.raw)
	}
	if a := c.want(409, "POST", "/company/tasks/"+taskID+"/transitions", `{"target":"in_progress","reason":"r"}`); a.detail() != "Start a run with POST /company/tasks/"+taskID+"/runs to enter In progress" {
		t.Errorf("in progress by hand: %s", a.raw)
	}
	c.want(200, "POST", "/company/tasks/"+taskID+"/transitions", `{"target":"backlog","reason":"back"}`)
	if a := c.want(204, "DELETE", "/company/products/"+product, nil); len(a.raw) != 0 {
		t.Errorf("204 has a body: %s", a.raw)
	}
	c.want(200, "POST", "/company/products/"+product+"/restore", nil)
	restored := c.want(200, "GET", "/company/tasks/"+taskID, nil)
	entries, _ := restored.body["transitions"].([]any)
	last, _ := entries[len(entries)-1].(map[string]any)
	before, _ := entries[len(entries)-2].(map[string]any)
	if by, there := last["archived_by"]; last["action"] != "restore" || !there || by != nil {
		t.Errorf("the entry of a restore: %v", last)
	}
	if fmt.Sprint(before["archived_by"]) != "map[id:"+product+" type:product]" || before["user_id"] != nil {
		t.Errorf("the entry of an archive: %v", before)
	}
	c.want(204, "DELETE", "/company/projects/"+project, nil)
	archived := c.want(200, "GET", "/company/projects/"+project+"?include_deleted=true", nil)
	entries, _ = archived.body["transitions"].([]any)
	last, _ = entries[len(entries)-1].(map[string]any)
	if by, there := last["archived_by"]; last["action"] != "archive" || last["reason"] != "Archived" || !there || by != nil {
		t.Errorf("a Project's own archive: %v", last)
	}
}

func TestRulesAsTexts(t *testing.T) {
	t.Parallel()
	c := setup(t)
	product, project, taskID := c.task()
	for _, r := range []struct {
		method, path, body string
		status             int
		detail             string
	}{
		{"POST", "/company/products", `{"name":"x","metadata":{"archive_window_days":true}}`, 422, "metadata.archive_window_days must be a nonnegative integer"},
		{"PATCH", "/company/products/" + product, `{"metadata":{"archive_window_days":1.5}}`, 422, "metadata.archive_window_days must be a nonnegative integer"},
		{"POST", "/company/tasks", `{"product_id":"` + product + `","project_id":" ","title":"x"}`, 422, "project_id must be a non-empty string or None"},
		{"POST", "/company/tasks", `{"product_id":"` + product + `","project_id":"` + project + `","title":"x","executor_id":" "}`, 422, "Invalid proposed executor id"},
		{"PATCH", "/company/tasks/" + taskID, `{"project_id":null}`, 422, "A Task requires a Project"},
		{"PATCH", "/company/tasks/" + taskID, `{"project_id":""}`, 422, "project_id must be a non-empty string or None"},
		{"PATCH", "/company/tasks/" + taskID, `{"executor_id":" "}`, 422, "Invalid proposed executor id"},
		{"POST", "/company/tasks/" + taskID + "/runs", ``, 409, "Select a registered agent, team or workflow executor"},
		{"POST", "/company/tasks/" + taskID + "/restore", ``, 409, "Task is not archived"},
		{"POST", "/company/tasks/" + taskID + "/transitions", `{"target":"ready","reason":"r","executor_type":"agent","executor_id":"nobody"}`, 409, "Task executor is missing from the registry"},
	} {
		a := c.alice(r.method, r.path, r.body)
		if a.status != r.status || a.detail() != r.detail || a.text("code") == "" || a.text("remedy") == "" {
			t.Errorf("%s %s %s: %d %s", r.method, r.path, r.body, a.status, a.raw)
		}
	}
	for _, source := range []string{
		`{"product_id":"` + product + `","type":"git","reference":"ssh://git@github.com/o/r"}`,
		`{"product_id":"none","type":"git","reference":" "}`,
		`{"product_id":"` + product + `","type":"website","reference":"http://127.0.0.1/"}`,
	} {
		a := c.alice("POST", "/company/sources", source)
		list, ok := a.detail().([]any)
		if a.status != 422 || !ok || len(list) != 1 || !strings.Contains(string(a.raw), `"loc":["body"],"msg":"Value error, `) {
			t.Errorf("%s: %d %s", source, a.status, a.raw)
		}
	}
	scopes := []string{"tasks:write", "tasks:read"}
	a := c.send("POST", "/company/tasks/"+taskID+"/transitions", "Bearer "+token(t, "bob", scopes), `{"target":"ready","reason":"r","executor_type":"agent","executor_id":"writer"}`)
	if a.status != 403 || a.detail() != "Insufficient permissions. Required scope(s): agents:run" {
		t.Errorf("accepting without the executor's permission: %d %s", a.status, a.raw)
	}
}

func TestNullAndAbsent(t *testing.T) {
	t.Parallel()
	c := setup(t)
	product, project, taskID := c.task()
	c.want(200, "PATCH", "/company/tasks/"+taskID, `{"brief":"b","evidence":[{"link":"x"}],"executor_id":"engineer"}`)
	kept := c.want(200, "PATCH", "/company/tasks/"+taskID, `{"title":"New"}`)
	if kept.text("brief") != "b" || kept.text("title") != "New" || kept.body["sandboxed"] != true {
		t.Errorf("absent fields: %s", kept.raw)
	}
	cleared := c.want(200, "PATCH", "/company/tasks/"+taskID, `{"brief":null,"evidence":null,"executor_id":null}`)
	if cleared.body["brief"] != nil || cleared.body["evidence"] != nil || cleared.body["executor_id"] != nil || cleared.body["sandboxed"] != false {
		t.Errorf("null fields: %s", cleared.raw)
	}
	dated := c.want(200, "PATCH", "/company/projects/"+project, `{"target_date":true,"outcome":"o"}`)
	if dated.body["target_date"] != 1.0 || dated.text("outcome") != "o" {
		t.Errorf("a lax date: %s", dated.raw)
	}
	reset := c.want(200, "PATCH", "/company/products/"+product, `{"metadata":null,"unknown":1}`)
	if fmt.Sprint(reset.body["metadata"]) != "map[archive_window_days:14]" {
		t.Errorf("metadata reset: %s", reset.raw)
	}
}

func TestLists(t *testing.T) {
	t.Parallel()
	c := setup(t)
	product, project, _ := c.task()
	for i := range 4 {
		c.want(201, "POST", "/company/tasks", map[string]any{"product_id": product, "project_id": project, "title": fmt.Sprint("t", i)})
	}
	a := c.want(200, "GET", "/company/tasks?limit=2&page=3&product_id="+product, nil)
	if got := fmt.Sprint(a.body["meta"]); got != "map[limit:2 page:3 search_time_ms:0 total_count:5 total_pages:3]" {
		t.Errorf("meta: %s", got)
	}
	if rows, _ := a.body["data"].([]any); len(rows) != 1 {
		t.Errorf("the last page: %s", a.raw)
	}
	for query, want := range map[string]int{
		"page=9000000000000000": 0, "product_id=": 0, "product_id=none": 0, "status=done": 0, "status=backlog": 5, "failed=true": 0,
		"failed=false": 5, "project_id=" + project: 5, "sort_by=updated_at&sort_order=asc": 5, "limit=1&limit=3": 3,
	} {
		a := c.want(200, "GET", "/company/tasks?"+query, nil)
		if rows, ok := a.body["data"].([]any); !ok || len(rows) != want {
			t.Errorf("%s: %d rows, want %d", query, len(rows), want)
		}
	}
	if a := c.want(200, "GET", "/company/attention?product_id=none", nil); fmt.Sprint(a.body) != "map[failed:0 in_review:0 items:[] proposals:0]" {
		t.Errorf("attention of no Product: %s", a.raw)
	}
}

func TestDatabaseAway(t *testing.T) {
	t.Parallel()
	c := setup(t)
	away, err := store.Open(t.Context(), store.Config{URL: "postgres://nobody@127.0.0.1:1/none?sslmode=disable"})
	if err != nil {
		t.Fatal(err)
	}
	defer away.Close()
	c.app.DB = away
	for _, m := range []string{"GET", "POST"} {
		a := c.alice(m, "/company/products", `{"name":"x"}`)
		if a.status != 503 || a.header.Get("Retry-After") == "" || a.body["retryable"] != true {
			t.Errorf("%s: %d %s", m, a.status, a.raw)
		}
		if strings.Contains(string(a.raw), "127.0.0.1") || strings.Contains(string(a.raw), "sql") {
			t.Errorf("%s shows an internal text: %s", m, a.raw)
		}
	}
}

// TestPanic: a defect answers 500 without a word of the inside, and the log has one line with the stack.
func TestPanic(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	h := api.New(api.Config{
		Company: app.New(app.Config{}), // no database at all
		Auth:    verifier(t, api.AuthConfig{HS256Secret: testSecret, Audience: testAudience}),
		Log:     slog.New(slog.NewJSONHandler(&log, nil)), RequestID: func(*http.Request) string { return "req-1" },
	})
	r := httptest.NewRequest(http.MethodGet, "/company/products", http.NoBody)
	r.Header.Set("Authorization", "Bearer "+token(t, "alice", everything))
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	var body map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil || w.Code != 500 || body["detail"] != "Internal server error" || body["request_id"] != "req-1" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if strings.Count(log.String(), "\n") != 1 || !strings.Contains(log.String(), `"request_id":"req-1"`) || !strings.Contains(log.String(), "serve.go") {
		t.Errorf("log: %s", log.String())
	}
}

func TestLogLine(t *testing.T) {
	t.Parallel()
	c := setup(t)
	secret := token(t, "alice", everything)
	c.send("GET", "/company/tasks/none", "Bearer "+secret, nil)
	lines := strings.Split(strings.TrimSpace(c.log.String()), "\n")
	var line map[string]any
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &line); err != nil {
		t.Fatal(err)
	}
	if line["route"] != "tasks.get" || line["status"] != 404.0 || line["user_id"] != "alice" || line["task_id"] != "none" || line["request_id"] == "" {
		t.Errorf("the line: %v", line)
	}
	if strings.Contains(c.log.String(), secret) {
		t.Error("the log holds a token")
	}
}

// A page far beyond the end is empty, wherever its offset would have wrapped around.
func TestAPageFarBeyondTheEnd(t *testing.T) {
	t.Parallel()
	c := setup(t)
	product, _, taskID := c.task()
	c.want(200, "POST", "/company/tasks/"+taskID+"/transitions", `{"target":"ready","reason":"go","executor_type":"agent","executor_id":"writer"}`)
	c.want(202, "POST", "/company/tasks/"+taskID+"/runs", nil)
	routine := c.want(201, "POST", "/company/routines", routineBody(product, nil)).text("id")
	c.want(200, "POST", "/company/routines/"+routine+"/trigger", nil)
	for _, list := range []string{"/company/tasks/" + taskID + "/runs", "/company/routines/" + routine + "/runs", "/company/tasks", "/company/wiki", "/company/decisions", "/company/sources", "/company/attention"} {
		for _, q := range []string{"page=214748365&limit=20", "page=268435457&limit=16", "page=107374184&limit=20", "page=9000000000000000&limit=1000"} {
			a := c.want(200, "GET", list+"?"+q, nil)
			if data, ok := a.body["data"].([]any); ok && len(data) > 0 {
				t.Errorf("%s?%s: %s", list, q, a.raw)
			}
		}
	}
	if meta := c.want(200, "GET", "/company/tasks/"+taskID+"/runs?page=9000000000000000", nil).body["meta"].(map[string]any); meta["total_count"] != 1.0 {
		t.Errorf("the total is %v", meta)
	}
}
