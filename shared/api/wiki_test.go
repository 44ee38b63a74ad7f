package api_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

func page(content string, version any) map[string]any {
	return map[string]any{"content": content, "expected_version": version}
}

// TestWiki is the life of pages in both namespaces, each refusal with its text.
func TestWiki(t *testing.T) {
	t.Parallel()
	c := setup(t)
	product := c.want(201, "POST", "/company/products", map[string]any{"name": "Widget", "purpose": "Explain"}).text("id")
	mine := "/company/products/" + product + "/wiki"
	for _, step := range []struct {
		method, path string
		body         any
		status       int
		want         string // part of the answer
	}{
		// The first access is a write of a default page.
		{"PUT", mine + "/brief.md", page("# x\n", 0), 409, `"file already exists: brief.md"`},
		{"GET", mine + "/brief.md", nil, 200, `"content":"# Widget\n\nExplain\n"`},
		{"GET", mine, nil, 200, `"total_count":2`},
		{"GET", mine + "?limit=1&page=2", nil, 200, `"path":"status.md"`},
		{"GET", mine + "?limit=1&page=9", nil, 200, `"data":[],"meta":{"page":9,"limit":1,"total_pages":2,"total_count":2`},
		{"PUT", mine + "/notes/plan.md", page("one", 0), 200, `{"path":"notes/plan.md","size_bytes":3,"version":1`},
		{"PUT", mine + "/notes/plan.md", page("two!", 1), 200, `"size_bytes":4,"version":2`},
		{"PUT", mine + "/notes/plan.md", page("two!", 1), 409, `"version conflict on notes/plan.md: expected 1, actual 2"`},
		{"PUT", mine + "/notes/plan.md", page("x", 0), 409, `"file already exists: notes/plan.md"`},
		{"PUT", mine + "/none.md", page("x", 3), 409, `"version conflict on none.md: expected 3, actual None"`},
		{"PUT", mine + "/empty.md", page("", 0), 200, `"size_bytes":0,"version":1`},
		{"GET", mine + "/notes/plan.md", nil, 200, `"content":"two!"`},
		{"GET", mine + "/notes/plan.md?version=1", nil, 200, `"content":"one","metadata":{"path":"notes/plan.md","size_bytes":3,"version":1`},
		{"GET", mine + "/notes/plan.md?version=2", nil, 200, `"written_by":"alice"`},
		{"GET", mine + "/notes/plan.md?version=3", nil, 404, `"Wiki page not found"`},
		{"GET", mine + "/notes/plan.md?version=0", nil, 422, `"greater_than_equal"`},
		{"GET", mine + "/brief.md?version=1", nil, 200, `"content":"# Widget\n\nExplain\n"`},
		{"GET", mine + "/none.md", nil, 404, `"Wiki page not found"`},
		{"GET", mine + "/a.txt", nil, 422, `"Wiki paths must be normalized relative Markdown paths"`},
		{"GET", mine + "/a%00.md", nil, 422, `control characters are not allowed`},
		{"PUT", mine + "/a%ff.md", page("x", 0), 422, `"Wiki paths must be normalized relative Markdown paths"`},
		{"PUT", mine + "/a/%2e%2e/b.md", page("x", 0), 422, `"invalid path 'a/../b.md': segments '.' and '..' are not allowed. Use relative paths like notes/topic.md."`},
		{"PUT", mine + "/a//b.md", page("x", 0), 422, `"Wiki paths must be normalized relative Markdown paths"`},
		{"PUT", mine + "/a%5Cb.md", page("x", 0), 422, `"invalid path 'a\\\\b.md': backslashes are not allowed`},
		{"PUT", mine + "/big.md", page(strings.Repeat("x", 1_000_001), 0), 422, `"big.md would be 1000001 bytes (limit 1000000 per file)"`},
		{"PUT", mine + "/big.md", page(strings.Repeat("x", 1_000_000), 0), 200, `"size_bytes":1000000`},
		{"PUT", mine + "/x.md", page("x", "0"), 422, `"int_type"`},
		{"GET", "/company/wiki", nil, 200, `"total_count":2`},
		{"PUT", "/company/wiki/brief.md", page("# Co\n", 1), 200, `"version":2`},
		{"GET", "/company/wiki/brief.md?version=1", nil, 200, `"content":"# Company\n\nShared company context.\n"`},
		{"GET", "/company/wiki/notes/plan.md", nil, 404, `"Wiki page not found"`},
		{"GET", "/company/products/none/wiki", nil, 404, `"Product not found"`},
		{"GET", "/company/products/company/wiki", nil, 404, `"Product not found"`},
		{"PUT", "/company/products/company/wiki/brief.md", page("x", 2), 404, `"Product not found"`},
		{"PUT", "/company/products/none/wiki/brief.md", page("x", 0), 404, `"Product not found"`},
		{"PATCH", "/company/products/" + product, map[string]any{"name": "Renamed"}, 200, `"Renamed"`},
		{"GET", mine + "/status.md", nil, 200, `"content":"# Widget status\n\nNo status recorded yet.\n"`},
		{"DELETE", "/company/products/" + product, nil, 204, ``},
		{"GET", mine, nil, 404, `"Product not found"`},
		{"GET", mine + "/brief.md", nil, 404, `"Product not found"`},
		{"PUT", mine + "/z.md", page("x", 0), 404, `"Product not found"`},
		{"POST", "/company/products/" + product + "/restore", nil, 200, ``},
		{"GET", mine + "/notes/plan.md", nil, 200, `"content":"two!"`},
	} {
		a := c.alice(step.method, step.path, step.body)
		if a.status != step.status || !strings.Contains(string(a.raw), step.want) {
			t.Errorf("%s %s: %d %.300s, want %d %s", step.method, step.path, a.status, a.raw, step.status, step.want)
		}
	}
}

// TestWikiRaces: of many writers of one version exactly one wins, and nobody's version is lost.
func TestWikiRaces(t *testing.T) {
	t.Parallel()
	c := setup(t)
	const writers, rounds = 8, 5
	for round := range rounds {
		var wg sync.WaitGroup
		var mu sync.Mutex
		statuses := map[int]int{}
		for n := range writers {
			wg.Go(func() {
				a := c.alice("PUT", "/company/wiki/race.md", page(fmt.Sprintf("%d by %d", round, n), round))
				mu.Lock()
				defer mu.Unlock()
				statuses[a.status]++
			})
		}
		wg.Wait()
		if statuses[200] != 1 || statuses[409] != writers-1 {
			t.Errorf("round %d: %v", round, statuses)
		}
	}
	for version := 1; version <= rounds; version++ {
		a := c.want(200, "GET", fmt.Sprintf("/company/wiki/race.md?version=%d", version), nil)
		if !strings.HasPrefix(a.text("content"), fmt.Sprintf("%d by", version-1)) {
			t.Errorf("version %d: %s", version, a.raw)
		}
	}
}
