package api_test

import (
	"fmt"
	"testing"
	"time"
)

// TestDecisions: what is recorded, how it is found, and what is refused.
func TestDecisions(t *testing.T) {
	t.Parallel()
	c := setup(t)
	long := map[string]any{"decision": "Use Postgres", "reasoning": "ACID, 100%_sure", "context": "Storage", "outcome": "Chosen"}
	first := c.want(201, "POST", "/company/decisions", long)
	at, err := time.Parse("2006-01-02T15:04:05.999999-07:00", first.text("created_at"))
	if err != nil || time.Since(at) > time.Minute || first.text("updated_at") != first.text("created_at") {
		t.Errorf("created_at: %v of %s", err, first.raw)
	}
	for _, field := range []string{"decision_type", "alternatives", "confidence", "outcome_quality", "tags", "agent_id", "session_id", "team_id"} {
		if v, there := first.body[field]; !there || v != nil {
			t.Errorf("%s is %v", field, v)
		}
	}
	if first.text("user_id") != "alice" || first.text("context") != "Storage" {
		t.Errorf("recorded: %s", first.raw)
	}
	c.want(201, "POST", "/company/decisions", map[string]any{"decision": "Ship it"})
	if _, err := c.app.DB.Pool().Exec(t.Context(), `INSERT INTO decisions (id, decision, agent_id, session_id, created_at)
		VALUES ('old', 'An agent''s', 'engineer', 's-1', now() - interval '10 days')`); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]string{
		"":                              "[Ship it Use Postgres An agent's]",
		"?limit=1&page=2":               "[Use Postgres]",
		"?limit=1&page=9":               "[]",
		"?query=POSTGRES":               "[Use Postgres]",
		"?query=100%25_":                "[Use Postgres]", // % and _ are no wildcards
		"?query=1%25e":                  "[]",
		"?query=reasoning":              "[]", // the names of fields are not searched
		"?query=acid":                   "[Use Postgres]",
		"?query=ALICE":                  "[Ship it Use Postgres]",
		"?query=":                       "[Ship it Use Postgres An agent's]",
		"?agent_id=engineer":            "[An agent's]",
		"?agent_id=":                    "[]",
		"?session_id=s-1":               "[An agent's]",
		"?session_id=s-2":               "[]",
		"?days=9":                       "[Ship it Use Postgres]",
		"?days=11":                      "[Ship it Use Postgres An agent's]",
		"?days=9000000000000000000":     "[Ship it Use Postgres An agent's]",
		"?query=ship&days=1&agent_id=x": "[]",
	} {
		a := c.want(200, "GET", "/company/decisions"+query, nil)
		got := []string{}
		for _, d := range a.body["data"].([]any) {
			got = append(got, d.(map[string]any)["decision"].(string))
		}
		if fmt.Sprint(got) != want {
			t.Errorf("%s: got %v, want %s", query, got, want)
		}
	}
	if total := c.total("/company/decisions?limit=1&query=postgres"); total != 1 {
		t.Errorf("the total of a search is %v", total)
	}
	for _, bad := range []struct {
		method, path string
		body         any
		status       int
		detail       string
	}{
		{"POST", "/company/decisions", map[string]any{"decision": " \n"}, 422, "decision must be non-empty"},
		{"POST", "/company/decisions", map[string]any{"decision": ""}, 422, ""},
		{"POST", "/company/decisions", map[string]any{"decision": "d", "user_id": "eve"}, 422, ""},
		{"GET", "/company/decisions?days=0", nil, 422, ""},
		{"GET", "/company/decisions?days=x", nil, 422, ""},
		{"PATCH", "/company/decisions", nil, 405, "Method Not Allowed"},
		{"DELETE", "/company/decisions/" + first.text("id"), nil, 404, "Not Found"},
	} {
		if a := c.alice(bad.method, bad.path, bad.body); a.status != bad.status || (bad.detail != "" && a.detail() != bad.detail) {
			t.Errorf("%s %s %v: %d %s", bad.method, bad.path, bad.body, a.status, a.raw)
		}
	}
}
