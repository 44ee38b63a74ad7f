package api_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"companyos/shared/wire"
)

// path fills a route's pattern with ids that nothing has.
func path(r wire.Route) string {
	p := strings.NewReplacer("{path...}", "none.md").Replace(r.Pattern)
	for strings.Contains(p, "{") {
		before, rest, _ := strings.Cut(p, "{")
		_, after, _ := strings.Cut(rest, "}")
		p = before + "none" + after
	}
	return p
}

// TestEveryRouteChecksItsCaller goes over the whole table: no token, a token without scopes, a token that lacks one of
// the scopes, a sandbox's token. Nothing that follows the check may be reached, whatever the ids and the body are.
func TestEveryRouteChecksItsCaller(t *testing.T) {
	t.Parallel()
	c := setup(t)
	launch := "Bearer cl1.0b0e7a3c-6a7e-4f0e-9d0b-6f1d3f0a2b11.1." + strings.Repeat("A", 43)
	for _, r := range wire.Routes {
		p := path(r)
		switch r.Caller {
		case wire.CallerPublic:
			if a := c.send(r.Method, p, "", nil); a.status != 200 {
				t.Errorf("%s: %d", r.Name, a.status)
			}
		case wire.CallerSandbox:
			for _, bearer := range []string{"", "Bearer " + token(t, "alice", append(everything, "agent_os:admin")), "Bearer cl1.x.1.y"} {
				if a := c.send(r.Method, p, bearer, "{"); a.status != 401 {
					t.Errorf("%s with %.20q: %d %s", r.Name, bearer, a.status, a.raw)
				}
			}
		case wire.CallerAgent:
			for _, bearer := range []string{"", launch, "Bearer x", strings.Replace(launch, "cl1", "cs1", 1)} {
				if a := c.send(r.Method, p, bearer, "{"); a.status != 401 {
					t.Errorf("%s with %.20q: %d %s", r.Name, bearer, a.status, a.raw)
				}
			}
		case wire.CallerPerson:
			if a := c.send(r.Method, p, "", "{"); a.status != 401 || a.detail() != "Authorization header missing" {
				t.Errorf("%s without a token: %d %s", r.Name, a.status, a.raw)
			}
			if a := c.send(r.Method, p, launch, "{"); a.status != 401 {
				t.Errorf("%s with a sandbox's token: %d %s", r.Name, a.status, a.raw)
			}
			want := "Insufficient permissions. Required scope(s): " + strings.Join(r.Scopes, ", ")
			for i := range r.Scopes {
				scopes := slices.DeleteFunc(slices.Clone(everything), func(s string) bool { return s == r.Scopes[i] })
				if a := c.send(r.Method, p, "Bearer "+token(t, "bob", scopes), "{"); a.status != 403 || a.detail() != want {
					t.Errorf("%s without %s: %d %s", r.Name, r.Scopes[i], a.status, a.raw)
				}
			}
			// The administrator passes and reaches the next check.
			if a := c.send(r.Method, p, "Bearer "+token(t, "root", []string{"agent_os:admin"}), "{"); a.status == 401 || a.status == 403 {
				t.Errorf("%s as administrator: %d %s", r.Name, a.status, a.raw)
			}
		}
	}
}

func TestEveryBodyIsChecked(t *testing.T) {
	t.Parallel()
	c := setup(t)
	for _, r := range wire.Routes {
		if r.Caller != wire.CallerPerson || r.Body == nil {
			continue
		}
		if a := c.alice(r.Method, path(r), "{"); a.status != 422 {
			t.Errorf("%s: a broken body gets %d", r.Name, a.status)
		}
	}
}

func TestMissingRecords(t *testing.T) {
	t.Parallel()
	c := setup(t)
	for _, m := range []struct{ method, path, body, detail string }{
		{"GET", "/company/products/none", "", "Product not found"},
		{"PATCH", "/company/products/none", "{}", "Product not found"},
		{"DELETE", "/company/products/none", "", "Product not found"},
		{"POST", "/company/products/none/restore", "", "Product not found"},
		{"DELETE", "/company/sources/none", "", "Source not found"},
		{"POST", "/company/sources/none/restore", "", "Source not found"},
		{"GET", "/company/projects/none", "", "Project not found"},
		{"PATCH", "/company/projects/none", "{}", "Project not found"},
		{"POST", "/company/projects/none/transitions", `{"target":"active","reason":"r"}`, "Project not found"},
		{"GET", "/company/tasks/none", "", "Task not found"},
		{"PATCH", "/company/tasks/none", "{}", "Task not found"},
		{"DELETE", "/company/tasks/none", "", "Task not found"},
		{"POST", "/company/tasks/none/transitions", `{"target":"cancelled","reason":"r"}`, "Task not found"},
		{"POST", "/company/tasks/none/runs", "", "Task not found"},
		{"GET", "/company/tasks/none/runs", "", "Task not found"},
		{"GET", "/company/runs/none", "", "Company run not found"},
		{"POST", "/company/runs/none/cancel", "", "Company run not found"},
		{"GET", "/company/tasks/%00", "", "Task not found"},
		{"GET", "/company/tasks/%ff", "", "Task not found"},
		{"GET", "/company/runs/a%2Fb", "", "Company run not found"},
		{"POST", "/company/projects", `{"product_id":"none","name":"x"}`, "Product not found"},
	} {
		a := c.alice(m.method, m.path, m.body)
		if a.status != 404 || a.detail() != m.detail {
			t.Errorf("%s %s: %d %s, want %s", m.method, m.path, a.status, a.raw, m.detail)
		}
	}
}

func TestPaths(t *testing.T) {
	t.Parallel()
	c := setup(t)
	for _, p := range []struct {
		method, path string
		status       int
		detail       any
		allow        string
	}{
		{"GET", "/company/products/", 200, nil, ""},
		{"GET", "/company/products//", 404, "Not Found", ""},
		{"GET", "/company//products", 404, "Not Found", ""},
		{"GET", "/company/./products", 404, "Not Found", ""},
		{"GET", "/company/x/../products", 404, "Not Found", ""},
		{"GET", "/company/products/%2e%2e/products", 404, "Not Found", ""},
		{"GET", "/company/unknown", 404, "Not Found", ""},
		{"GET", "/elsewhere", 404, "Not Found", ""},
		{"GET", "/", 404, "Not Found", ""},
		{"PUT", "/company/products", 405, "Method Not Allowed", "GET, POST"},
		{"GET", "/company/sources/x", 405, "Method Not Allowed", "DELETE"},
		{"HEAD", "/company/products", 405, nil, "GET, POST"},
		{"DELETE", "/company/wiki/brief.md", 405, "Method Not Allowed", "GET, PUT"},
		{"GET", "/sandbox/claim", 405, "Method Not Allowed", "POST"},
		{"HEAD", "/docs", 200, nil, ""},
	} {
		a := c.alice(p.method, p.path, nil)
		if a.status != p.status || a.detail() != p.detail || a.header.Get("Allow") != p.allow {
			t.Errorf("%s %s: %d %s Allow %q", p.method, p.path, a.status, a.raw, a.header.Get("Allow"))
		}
		if p.method == "HEAD" && len(a.raw) > 0 {
			t.Errorf("HEAD %s has a body", p.path)
		}
	}
	for _, hidden := range []string{"/company/unknown", "/company/x//y"} {
		if a := c.send("GET", hidden, "", nil); a.status != 401 {
			t.Errorf("%s without a token: %d", hidden, a.status)
		}
	}
}

// TestWikiPaths: a page's path reaches its own rules as it was sent, without a redirect on the way.
func TestWikiPaths(t *testing.T) {
	t.Parallel()
	c := setup(t)
	for _, p := range []string{
		"/company/wiki/a/%2e%2e/b.md", "/company/wiki/a//b.md", "/company/wiki/../b.md", "/company/wiki/a%5Cb.md", "/company/wiki/a.md/",
		"/company/products/none/wiki/a/./b.md", "/company/products/none/wiki/%2F", "/company/wiki/%ff",
	} {
		if a := c.alice("GET", p, nil); a.status != 422 && a.detail() != "Product not found" || a.text("code") == "no_route" {
			t.Errorf("%s: %d %s", p, a.status, a.raw)
		}
	}
	for _, p := range []string{"/company/products/../wiki/a.md", "/company/products//wiki/a.md"} {
		if a := c.alice("GET", p, nil); a.status != 404 {
			t.Errorf("%s: %d", p, a.status)
		}
	}
}

func TestBodies(t *testing.T) {
	t.Parallel()
	c := setup(t)
	big := `{"name":"` + strings.Repeat("x", 1<<20) + `"}`
	if a := c.alice("POST", "/company/products", big); a.status != 413 || a.text("code") != "body_too_large" {
		t.Errorf("over 1 MiB: %d %.200s", a.status, a.raw)
	}
	if a := c.send("POST", "/company/products", "", big); a.status != 401 {
		t.Errorf("over 1 MiB without a token: %d", a.status)
	}
	page := `{"content":"` + strings.Repeat("x", 2<<20) + `","expected_version":0}`
	if a := c.alice("PUT", "/company/wiki/a.md", page); a.status != 422 || a.text("code") != "wiki_page_too_large" {
		t.Errorf("a page of 2 MiB: %d %.200s", a.status, a.raw)
	}
	a := c.alice("POST", "/company/tasks", `{"product_id":"p","title":"t","project_id":"j","brief":"a\u0000b"}`)
	if want := `[map[ctx:map[error:map[]] loc:[body brief] msg:Value error, text cannot hold the character NUL type:value_error]]`; a.status != 422 || fmt.Sprint(a.detail()) != want {
		t.Errorf("NUL: %d %s", a.status, a.raw)
	}
	if a.text("code") != "invalid_request" || a.text("request_id") == "" || a.body["retryable"] != false || a.text("remedy") == "" {
		t.Errorf("a problem lacks something: %s", a.raw)
	}
}

func TestGzip(t *testing.T) {
	t.Parallel()
	c := setup(t)
	for accept, want := range map[string]string{"": "", "gzip": "gzip", "br, gzip;q=0.5": "gzip", "gzip;q=0": "", "identity": "", "*": "gzip"} {
		r, err := http.NewRequest(http.MethodGet, "/openapi.json", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept-Encoding", accept)
		if got := c.do(r).header.Get("Content-Encoding"); got != want {
			t.Errorf("Accept-Encoding %q: %q", accept, got)
		}
	}
}
