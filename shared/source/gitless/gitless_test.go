package gitless_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"companyos/shared/agent/gittest"
	"companyos/shared/company"
	"companyos/shared/source"
	"companyos/shared/source/gitless"
	"companyos/shared/task"
)

func gitSource(reference, config string) company.Source {
	return company.Source{Type: company.SourceGit, Reference: reference, Config: []byte(config)}
}

// packets is what a git host says: each line with its length, an empty one ends a section.
func packets(lines ...string) string {
	var b strings.Builder
	for _, l := range lines {
		if l == "" {
			b.WriteString("0000")
			continue
		}
		fmt.Fprintf(&b, "%04x%s", len(l)+4, l)
	}
	return b.String()
}

// TestLibraryAsksForLittle: a host that would send every file is not asked, one that sends too much is left, and a redirect is
// not followed.
func TestLibraryAsksForLittle(t *testing.T) {
	t.Parallel()
	commit, asked := strings.Repeat("a", 40), 0
	advertise := func(capabilities string) string {
		return packets("# service=git-upload-pack\n", "", commit+" HEAD\x00"+capabilities+"\n", commit+" refs/heads/main\n", "")
	}
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") }))
	t.Cleanup(elsewhere.Close)
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			asked++
		}
		switch {
		case strings.HasPrefix(r.URL.Path, "/a/moved"):
			http.Redirect(w, r, elsewhere.URL+r.URL.Path, http.StatusFound)
		case strings.HasPrefix(r.URL.Path, "/a/whole"):
			fmt.Fprint(w, advertise("shallow side-band-64k"))
		case strings.HasPrefix(r.URL.Path, "/a/endless"):
			fmt.Fprint(w, packets("# service=git-upload-pack\n", "", commit+" HEAD\x00shallow filter\n"))
			for n := 0; r.Context().Err() == nil; n++ {
				if _, err := fmt.Fprint(w, packets(fmt.Sprintf("%s refs/heads/%040d\n", commit, n))); err != nil {
					return
				}
			}
		case strings.HasSuffix(r.URL.Path, "/info/refs"):
			fmt.Fprint(w, advertise("shallow filter side-band-64k"))
		default:
			fmt.Fprint(w, packets("shallow "+commit+"\n", "", "NAK\n", "\x01PACK and what is none", ""))
		}
	}))
	t.Cleanup(host.Close)
	r := &source.Reader{GitHosts: []string{host.URL + "/"}, Limits: source.Limits{Fetch: 1 << 20}, Library: gitless.Read}
	for name, want := range map[string]string{
		"moved": "does not exist, needs another credential", "whole": "only of hosts that support partial fetches",
		"endless": "larger than is read", "broken": "cannot be read",
	} {
		_, err := r.Read(t.Context(), gitSource(host.URL+"/a/"+name, `{"branch":"main"}`))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if asked != 1 {
		t.Errorf("%d hosts were asked for a pack", asked)
	}
}

// TestLibraryLeavesLargePacks: what is fetched is bounded, whatever of it would be taken.
func TestLibraryLeavesLargePacks(t *testing.T) {
	t.Parallel()
	server, err := gittest.Start(t.TempDir(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	repository, err := server.Create("acme/large")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]gittest.File{"huge.txt": {Content: strings.Repeat("x", 64<<20)}}
	for n := range 2000 {
		files[fmt.Sprintf("%d.md", n)] = gittest.File{Content: fmt.Sprintf("%x", n*n*n*7919)}
	}
	if _, err := repository.Commit(gittest.Commit{Branch: "main", Message: "one", Files: files}); err != nil {
		t.Fatal(err)
	}
	r := &source.Reader{GitHosts: []string{server.URL + "/"}, Library: gitless.Read}
	items, err := r.Read(t.Context(), gitSource(repository.URL, "{}"))
	if err != nil || len(items) != 200 {
		t.Errorf("%d items, %v", len(items), err)
	}
	r.Limits.Fetch = 10 << 10
	if _, err := r.Read(t.Context(), gitSource(repository.URL, "{}")); task.KindOf(err) != task.KindInvalid || !strings.Contains(err.Error(), "larger than is read") {
		t.Errorf("over the limit: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Read(ctx, gitSource(repository.URL, "{}")); task.KindOf(err) != task.KindUnavailable {
		t.Errorf("cancelled: %v", err)
	}
}
