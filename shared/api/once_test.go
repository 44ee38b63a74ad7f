package api_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// keyed makes a request with an Idempotency-Key.
func (c *office) keyed(subject, key, path string, body any) answer {
	c.t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		c.t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(string(raw)))
	r.Header.Set("Authorization", "Bearer "+token(c.t, subject, everything))
	r.Header.Set("Idempotency-Key", key)
	return c.do(r)
}

// creations are the routes that make a record, with a body and another one.
func (c *office) creations() map[string][2]map[string]any {
	product, project, _ := c.task()
	return map[string][2]map[string]any{
		"/company/products":  {{"name": "one"}, {"name": "two"}},
		"/company/projects":  {{"product_id": product, "name": "one"}, {"product_id": product, "name": "two"}},
		"/company/tasks":     {{"product_id": product, "project_id": project, "title": "one"}, {"product_id": product, "project_id": project, "title": "two"}},
		"/company/sources":   {{"product_id": product, "type": "git", "reference": repository}, {"product_id": product, "type": "website", "reference": "https://example.com"}},
		"/company/decisions": {{"decision": "one"}, {"decision": "two"}},
	}
}

func (c *office) total(path string) float64 {
	c.t.Helper()
	return c.want(200, "GET", path, nil).body["meta"].(map[string]any)["total_count"].(float64)
}

// TestIdempotencyKeys holds every creation to its key: one record, one answer, nothing for another body, nothing shared
// between callers.
func TestIdempotencyKeys(t *testing.T) {
	t.Parallel()
	c := setup(t)
	for path, body := range c.creations() {
		before := c.total(path)
		first := c.keyed("alice", "key-1", path+"", body[0])
		if first.status != 201 || first.header.Get("Idempotency-Replayed") != "" {
			t.Fatalf("%s: %d %s", path, first.status, first.raw)
		}
		again := c.keyed("alice", "key-1", path, body[0])
		if again.status != 201 || string(again.raw) != string(first.raw) || again.header.Get("Idempotency-Replayed") != "true" {
			t.Errorf("%s again: %d %s, want %s", path, again.status, again.raw, first.raw)
		}
		for _, other := range []any{body[1], map[string]any{"nonsense": true}} {
			if a := c.keyed("alice", "key-1", path, other); a.status != 422 || a.text("code") != "idempotency_key_reused" {
				t.Errorf("%s with another body: %d %s", path, a.status, a.raw)
			}
		}
		if a := c.keyed("bob", "key-1", path, body[0]); a.status != 201 || a.text("id") == first.text("id") {
			t.Errorf("%s of bob: %d %s", path, a.status, a.raw)
		}
		if made := c.total(path) - before; made != 2 {
			t.Errorf("%s: %v records, want 2", path, made)
		}
		if _, err := c.app.DB.Pool().Exec(t.Context(), "DELETE FROM idempotency_keys"); err != nil {
			t.Fatal(err)
		}
	}
}

// TestIdempotencyKeysOfFailures: a request that made nothing leaves its key free.
func TestIdempotencyKeysOfFailures(t *testing.T) {
	t.Parallel()
	c := setup(t)
	body := map[string]any{"product_id": "none", "name": "x"}
	for range 2 {
		if a := c.keyed("alice", "k", "/company/projects", body); a.status != 404 {
			t.Fatalf("%d %s", a.status, a.raw)
		}
	}
	if a := c.keyed("alice", "k", "/company/products", map[string]any{"name": "x"}); a.status != 201 {
		t.Errorf("the key of a failure is taken: %d %s", a.status, a.raw)
	}
	for _, key := range []string{"", " ", "with space", "ü", strings.Repeat("x", 256), "a\tb"} {
		if a := c.keyed("alice", key, "/company/products", map[string]any{"name": "x"}); a.status != 422 || a.text("code") != "invalid_request" {
			t.Errorf("key %q: %d %s", key, a.status, a.raw)
		}
	}
	r := httptest.NewRequest(http.MethodPost, "/company/products", strings.NewReader(`{"name":"x"}`))
	r.Header.Set("Authorization", "Bearer "+token(t, "alice", everything))
	r.Header["Idempotency-Key"] = []string{"a", "b"}
	if a := c.do(r); a.status != 422 {
		t.Errorf("two keys: %d %s", a.status, a.raw)
	}
}

// TestIdempotencyKeyRaces: duplicates at the same time make one record and get one answer.
func TestIdempotencyKeyRaces(t *testing.T) {
	t.Parallel()
	c := setup(t)
	for path, body := range c.creations() {
		before := c.total(path)
		var wg sync.WaitGroup
		var mu sync.Mutex
		answers := map[string]int{}
		for range 8 {
			wg.Go(func() {
				a := c.keyed("alice", "race", path, body[0])
				mu.Lock()
				defer mu.Unlock()
				answers[string(a.raw)]++
				if a.status != 201 {
					t.Errorf("%s: %d %s", path, a.status, a.raw)
				}
			})
		}
		wg.Wait()
		if made := c.total(path) - before; made != 1 || len(answers) != 1 {
			t.Errorf("%s: %v records, answers %v", path, made, answers)
		}
		if _, err := c.app.DB.Pool().Exec(t.Context(), "DELETE FROM idempotency_keys"); err != nil {
			t.Fatal(err)
		}
	}
}

// TestIdempotencyKeysAreForgotten after 30 days, and a request without one never looks at them.
func TestIdempotencyKeysAreForgotten(t *testing.T) {
	t.Parallel()
	c := setup(t)
	body := map[string]any{"name": "x"}
	for _, key := range []string{"old", "new"} {
		if a := c.keyed("alice", key, "/company/products", body); a.status != 201 {
			t.Fatal(a.status)
		}
	}
	old := time.Now().Add(-30*24*time.Hour - time.Minute)
	if _, err := c.app.DB.Pool().Exec(t.Context(), "UPDATE idempotency_keys SET created_at = $1 WHERE key = 'old'", old); err != nil {
		t.Fatal(err)
	}
	if n, err := c.app.ForgetAnswers(t.Context()); err != nil || n != 1 {
		t.Fatalf("forgot %d: %v", n, err)
	}
	if a := c.keyed("alice", "old", "/company/products", map[string]any{"name": "y"}); a.status != 201 || a.text("name") != "y" {
		t.Errorf("a forgotten key: %d %s", a.status, a.raw)
	}
	if a := c.keyed("alice", "new", "/company/products", map[string]any{"name": "y"}); a.status != 422 {
		t.Errorf("a kept key: %d %s", a.status, a.raw)
	}
	if _, err := c.app.DB.Pool().Exec(t.Context(), "DROP TABLE idempotency_keys"); err != nil {
		t.Fatal(err)
	}
	c.want(201, "POST", "/company/products", body)
}
