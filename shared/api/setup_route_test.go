package api_test

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
)

// TestSetup: 201 once, then 200 with what is there; what is declared and missing is added; nothing else is touched.
func TestSetup(t *testing.T) {
	t.Parallel()
	c := setup(t)
	git := map[string]any{"type": "git", "reference": repository}
	first := c.want(201, "POST", "/company/setup", map[string]any{"name": "First", "purpose": "Learn", "metadata": map[string]any{"archive_window_days": 3}, "sources": []any{git}})
	var fields []string
	for name := range first.body {
		fields = append(fields, name)
	}
	slices.Sort(fields)
	if got := strings.Join(fields, " "); got != "created_at deleted_at id metadata name purpose updated_at user_id" {
		t.Errorf("fields: %s", got)
	}
	if first.text("id") != "company-setup" || first.text("user_id") != "alice" {
		t.Errorf("set up: %s", first.raw)
	}
	sources := c.want(200, "GET", "/company/sources?product_id=company-setup", nil)
	source := sources.body["data"].([]any)[0].(map[string]any)
	wantID := uuid.NewSHA1(uuid.NameSpaceURL, []byte("company-setup:git:"+repository)).String()
	if source["id"] != wantID || source["user_id"] != "alice" {
		t.Errorf("source: %v, want id %s", source, wantID)
	}
	c.want(204, "DELETE", "/company/sources/"+wantID, nil)
	c.want(200, "PATCH", "/company/products/company-setup", map[string]any{"name": "Edited"})
	site := map[string]any{"id": "my-site", "type": "website", "reference": "https://example.com/docs"}
	again := c.want(200, "POST", "/company/setup", map[string]any{"name": "Other", "sources": []any{git, site}})
	if again.text("name") != "Edited" || again.text("purpose") != "Learn" {
		t.Errorf("again: %s", again.raw)
	}
	left := c.want(200, "GET", "/company/sources?product_id=company-setup", nil).body["data"].([]any)
	if len(left) != 1 || left[0].(map[string]any)["id"] != "my-site" {
		t.Errorf("a removed Source came back, or a declared one is missing: %v", left)
	}
	c.want(201, "POST", "/company/products", map[string]any{"name": "Second"})
	c.want(200, "POST", "/company/setup", map[string]any{"name": "x"})
	c.want(204, "DELETE", "/company/products/company-setup", nil)
	hidden := c.want(200, "POST", "/company/setup", map[string]any{"name": "x", "sources": []any{map[string]any{"type": "website", "reference": "https://example.org"}}})
	if hidden.body["deleted_at"] == nil {
		t.Errorf("an archived one: %s", hidden.raw)
	}
	if c.total("/company/sources?product_id=company-setup&include_deleted=true") != 2 {
		t.Error("an archived Product got a Source")
	}
}

func TestSetupRefusals(t *testing.T) {
	t.Parallel()
	c := setup(t)
	routine := map[string]any{"name": "r", "executor_type": "agent", "executor_id": "writer", "instructions": "do"}
	granted := map[string]any{
		"name": "r", "executor_type": "agent", "executor_id": "writer", "instructions": "do",
		"auto_accept": map[string]any{"executor_type": "agent", "executor_id": "writer", "limits": map[string]any{"expires_at": 99}},
	}
	git := map[string]any{"type": "git", "reference": repository}
	without := func(scopes ...string) []string {
		return slices.DeleteFunc(slices.Clone(everything), func(s string) bool { return slices.Contains(scopes, s) })
	}
	for _, r := range []struct {
		scopes []string
		body   map[string]any
		status int
		want   string
	}{
		{everything, map[string]any{}, 422, `["body","name"]`},
		{everything, map[string]any{"name": " "}, 422, "name must be a non-empty string"},
		{everything, map[string]any{"name": "x", "id": "mine"}, 422, `["body","id"]`},
		{everything, map[string]any{"name": "x", "user_id": "eve"}, 422, `["body","user_id"]`},
		{everything, map[string]any{"name": "x", "more": 1}, 422, "extra_forbidden"},
		{everything, map[string]any{"name": "x", "metadata": map[string]any{"archive_window_days": -1}}, 422, "metadata.archive_window_days must be a nonnegative integer"},
		{
			everything,
			map[string]any{"name": "x", "sources": []any{git, map[string]any{"type": "website", "reference": "http://127.0.0.1"}}},
			422,
			`"loc":["body","sources",1],"msg":"Value error, Website Sources cannot read private network addresses"`,
		},
		{everything, map[string]any{"name": "x", "routines": []any{granted}}, 422, "Authorize automatic acceptance through the Routine API"},
		{without("products:write"), map[string]any{"name": "x"}, 403, "Required scope(s): products:write"},
		{without("sources:write"), map[string]any{"name": "x", "sources": []any{git}}, 403, "Required scope(s): sources:write"},
		{without("schedules:write"), map[string]any{"name": "x", "routines": []any{routine}}, 403, "Required scope(s): schedules:write, routines:write"},
		{without("routines:write"), map[string]any{"name": "x", "routines": []any{routine}}, 403, "Required scope(s): schedules:write, routines:write"},
		{without("agents:run"), map[string]any{"name": "x", "routines": []any{routine}}, 403, "Required scope(s): agents:run"},
	} {
		a := c.send("POST", "/company/setup", "Bearer "+token(t, "alice", r.scopes), r.body)
		if a.status != r.status || !strings.Contains(string(a.raw), r.want) {
			t.Errorf("%v: %d %s, want %d %s", r.body, a.status, a.raw, r.status, r.want)
		}
	}
	if total := c.total("/company/products?include_deleted=true"); total != 0 {
		t.Errorf("a refused setup left %v Products", total)
	}
	if a := c.send("POST", "/company/setup", "Bearer "+token(t, "alice", []string{"products:write"}), map[string]any{"name": "x"}); a.status != 201 {
		t.Errorf("without Sources and Routines products:write is enough: %d %s", a.status, a.raw)
	}
	late := setup(t)
	id := late.want(201, "POST", "/company/products", map[string]any{"name": "x"}).text("id")
	late.want(204, "DELETE", "/company/products/"+id, nil)
	if a := late.alice("POST", "/company/setup", map[string]any{"name": "x"}); a.status != 409 || a.detail() != "Company setup requires a deployment without Products" {
		t.Errorf("late: %d %s", a.status, a.raw)
	}
}

// TestSetupRaces: of many setups at once one creates and all answer the same Product; one key has one answer.
func TestSetupRaces(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"", "once"} {
		c := setup(t)
		body := map[string]any{"name": "First", "sources": []any{map[string]any{"type": "git", "reference": repository}}}
		raw, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		var mu sync.Mutex
		statuses, answers := map[int]int{}, map[string]int{}
		for range 8 {
			wg.Go(func() {
				var a answer
				if key == "" {
					a = c.alice("POST", "/company/setup", string(raw))
				} else {
					a = c.keyed("alice", key, "/company/setup", body)
				}
				mu.Lock()
				defer mu.Unlock()
				statuses[a.status]++
				answers[string(a.raw)]++
			})
		}
		wg.Wait()
		if len(answers) != 1 || statuses[200]+statuses[201] != 8 || (key == "" && statuses[201] != 1) || (key != "" && len(statuses) != 1) {
			t.Errorf("key %q: %v %v", key, statuses, answers)
		}
		if c.total("/company/sources") != 1 || c.total("/company/products") != 1 {
			t.Error("a setup at once made a second record")
		}
	}
}
