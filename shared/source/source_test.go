package source_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"companyos/shared/agent/gittest"
	"companyos/shared/company"
	"companyos/shared/source"
	"companyos/shared/source/gitless"
	"companyos/shared/task"
)

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, target, at string) {
	t.Helper()
	if err := os.Symlink(target, at); err != nil {
		t.Fatal(err)
	}
}

func markdown(reference string, paths ...string) company.Source {
	s := website(reference, paths...)
	s.Type = company.SourceMarkdown
	return s
}

func TestMarkdown(t *testing.T) {
	t.Parallel()
	outside, root := t.TempDir(), t.TempDir()
	write(t, filepath.Join(outside, "secret.md"), "canary")
	docs := filepath.Join(root, "docs")
	write(t, filepath.Join(docs, "a.md"), "# A\n")
	write(t, filepath.Join(docs, "sub", "b.MARKDOWN"), "b")
	write(t, filepath.Join(docs, "notes.txt"), "no")
	write(t, filepath.Join(docs, ".git", "c.md"), "no")
	write(t, filepath.Join(docs, "big.md"), strings.Repeat("x", 300<<10))
	write(t, filepath.Join(docs, "binary.md"), "a\x00b")
	write(t, filepath.Join(docs, "latin.md"), "Gr\xf6\xdfe")
	link(t, filepath.Join(outside, "secret.md"), filepath.Join(docs, "absolute.md"))
	link(t, "../../"+filepath.Base(outside)+"/secret.md", filepath.Join(docs, "relative.md"))
	link(t, outside, filepath.Join(docs, "folder"))
	link(t, "..", filepath.Join(docs, "up"))
	link(t, "up/..", filepath.Join(docs, "upup"))
	link(t, "upup/"+filepath.Base(outside)+"/secret.md", filepath.Join(docs, "hops.md"))
	link(t, "a.md", filepath.Join(docs, "inside.md"))
	if err := syscall.Mkfifo(filepath.Join(docs, "pipe.md"), 0o600); err != nil {
		t.Fatal(err)
	}
	r, at := &source.Reader{Root: root}, "file://"+docs
	for _, reference := range []string{"docs", docs, "docs/", "./docs"} {
		items, err := r.Read(t.Context(), markdown(reference))
		want := "a.md " + at + "/a.md \"# A\\n\"\ninside.md " + at + "/inside.md \"# A\\n\"\nsub/b.MARKDOWN " + at + "/sub/b.MARKDOWN \"b\"\n"
		if err != nil || text(items) != want {
			t.Errorf("%s: %v\n%s, want\n%s", reference, err, text(items), want)
			continue
		}
		if got := fmt.Sprint(items[0].SkippedPaths); got != "[absolute.md big.md binary.md hops.md latin.md pipe.md relative.md]" {
			t.Errorf("skipped %s", got)
		}
	}
	for _, c := range []struct {
		source company.Source
		want   string
	}{
		{markdown("docs", "sub"), "sub/b.MARKDOWN " + at + "/sub/b.MARKDOWN \"b\"\n"},
		{markdown("docs", "a.md"), "a.md " + at + "/a.md \"# A\\n\"\n"},
		{markdown("docs/a.md"), "a.md " + at + "/a.md \"# A\\n\"\n"},
	} {
		if items, err := r.Read(t.Context(), c.source); err != nil || text(items) != c.want {
			t.Errorf("%s %s: %v %s", c.source.Reference, c.source.Config, err, text(items))
		}
	}
	for _, s := range []company.Source{
		markdown("../" + filepath.Base(outside)), markdown(outside), markdown("/etc"), markdown("docs/folder"), markdown("docs/hops.md"),
		markdown("docs/absolute.md"), markdown("docs/pipe.md"), markdown("none"), markdown("docs", "../x"), markdown("docs", "/etc"), markdown("docs", "none"),
	} {
		items, err := r.Read(t.Context(), s)
		if task.KindOf(err) != task.KindInvalid || strings.Contains(text(items), "canary") {
			t.Errorf("%s %s: %v %s", s.Reference, s.Config, err, text(items))
		}
	}
	if _, err := (&source.Reader{}).Read(t.Context(), markdown(docs)); err == nil || !strings.Contains(err.Error(), "no folder for them is configured") {
		t.Errorf("without a folder: %v", err)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for n := range 10 {
		write(t, filepath.Join(root, fmt.Sprintf("%d.md", n)), strings.Repeat("x", 100))
	}
	for _, c := range []struct {
		limits         source.Limits
		items, skipped int
	}{{source.Limits{}, 10, 0}, {source.Limits{Items: 4}, 4, 6}, {source.Limits{Total: 350}, 3, 7}, {source.Limits{Item: 100}, 10, 0}} {
		items, err := (&source.Reader{Root: root, Limits: c.limits}).Read(t.Context(), markdown("."))
		if err != nil || len(items) != c.items || len(items[0].SkippedPaths) != c.skipped {
			t.Errorf("%+v: %v, %d items", c.limits, err, len(items))
		}
	}
	if _, err := (&source.Reader{Root: root, Limits: source.Limits{Item: 99}}).Read(t.Context(), markdown(".")); err == nil || err.Error() != "The Source holds no text that can be read" {
		t.Errorf("nothing fits: %v", err)
	}
}

func gitSource(reference, branch string, credential *string, paths ...string) company.Source {
	config := map[string]any{}
	if branch != "" {
		config["branch"] = branch
	}
	if paths != nil {
		config["paths"] = paths
	}
	raw, _ := json.Marshal(config)
	return company.Source{Type: company.SourceGit, Reference: reference, CredentialRef: credential, Config: raw}
}

// TestGit: git, and the library in its place, read the same.
func TestGit(t *testing.T) {
	t.Parallel()
	for name, library := range map[string]source.Library{"git": nil, "library": gitless.Read} {
		t.Run(name, func(t *testing.T) { t.Parallel(); testGit(t, library) })
	}
}

func testGit(t *testing.T, library source.Library) {
	server, err := gittest.Start(t.TempDir(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	repository, err := server.Create("acme/app")
	if err != nil {
		t.Fatal(err)
	}
	_, err = repository.Commit(gittest.Commit{Branch: "main", Message: "one", Files: map[string]gittest.File{
		"README.md": {Content: "# App\n"}, "src/run.sh": {Content: "echo\n", Executable: true}, "src/link": {Symlink: "/etc/passwd"},
		"lib": {Submodule: strings.Repeat("a", 40)}, "image.png": {Content: "\x89PNG\x00"}, "big.txt": {Content: strings.Repeat("x", 300<<10)},
		".gitattributes": {Content: "* filter=evil\n"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = repository.Commit(gittest.Commit{Branch: "dev", Message: "two", Files: map[string]gittest.File{"DEV.md": {Content: "dev"}}}); err != nil {
		t.Fatal(err)
	}
	token := "GITHUB_READ_TOKEN"
	r := &source.Reader{GitHosts: []string{server.URL + "/"}, Token: func(context.Context) (string, error) { return "let-me-in", nil }, Library: library}
	at := repository.URL + "/blob/"
	for _, c := range []struct {
		source company.Source
		want   string
	}{
		{gitSource(repository.URL, "", nil), ".gitattributes " + at + "HEAD/.gitattributes \"* filter=evil\\n\"\nREADME.md " + at + "HEAD/README.md \"# App\\n\"\nsrc/run.sh " + at + "HEAD/src/run.sh \"echo\\n\"\n"},
		{gitSource(repository.URL, "main", nil, "src", "README.md"), "README.md " + at + "main/README.md \"# App\\n\"\nsrc/run.sh " + at + "main/src/run.sh \"echo\\n\"\n"},
		{gitSource(repository.URL, "dev", nil), "DEV.md " + at + "dev/DEV.md \"dev\"\n"},
	} {
		items, err := r.Read(t.Context(), c.source)
		if err != nil || text(items) != c.want {
			t.Errorf("%s: %v\n%s, want\n%s", c.source.Config, err, text(items), c.want)
			continue
		}
		if got := fmt.Sprint(slices.Sorted(slices.Values(items[0].SkippedPaths))); len(items) == 3 && got != "[big.txt image.png lib src/link]" {
			t.Errorf("skipped %s", got)
		}
	}
	server.RequireToken("acme/app", "let-me-in")
	if _, err := r.Read(t.Context(), gitSource(repository.URL, "dev", &token)); err != nil {
		t.Errorf("with the credential: %v", err)
	}
	other := "AWS_SECRET_ACCESS_KEY"
	for _, c := range []struct {
		source company.Source
		kind   task.Kind
	}{
		{gitSource(repository.URL, "dev", nil), task.KindUnavailable},
		{gitSource(repository.URL, "none", &token), task.KindInvalid},
		{gitSource(repository.URL, "main", &other), task.KindInvalid},
		{gitSource(server.URL+"/acme/none", "", nil), task.KindUnavailable},
		{gitSource("http://127.0.0.1:1/acme/app", "", nil), task.KindInvalid},
		{gitSource("ssh://git@github.com/acme/app", "", nil), task.KindInvalid},
		{gitSource("ext::sh -c touch% /tmp/x", "", nil), task.KindInvalid},
		{gitSource("file:///etc", "", nil), task.KindInvalid},
		{gitSource("--upload-pack=touch x", "", nil), task.KindInvalid},
	} {
		if _, err := r.Read(t.Context(), c.source); task.KindOf(err) != c.kind {
			t.Errorf("%s %s: %v, want %s", c.source.Reference, c.source.Config, err, c.kind)
		}
	}
	for name, limits := range map[string]source.Limits{"size": {Fetch: 1}, "time": {Reading: time.Nanosecond}} {
		hurried := *r
		hurried.Limits = limits
		if name == "size" {
			server.SetFault("acme/app", gittest.FaultHuge)
		}
		began := time.Now()
		want := map[string]string{"size": "The repository is larger than is read", "time": "The repository did not answer in time"}[name]
		_, err := hurried.Read(t.Context(), gitSource(repository.URL, "", &token))
		if known, ok := errors.AsType[*task.Error](err); !ok || known.Detail != want || time.Since(began) > 30*time.Second {
			t.Errorf("%s: %v after %v", name, err, time.Since(began))
		}
	}
}

// TestGitFolder reads a repository of the operator's folder, whose own settings start nothing.
func TestGitFolder(t *testing.T) {
	t.Parallel()
	root, outside := t.TempDir(), t.TempDir()
	marker := filepath.Join(outside, "marker")
	for _, dir := range []string{filepath.Join(root, "repo"), filepath.Join(outside, "repo")} {
		write(t, filepath.Join(dir, "README.md"), "# Hi\n")
		for _, args := range [][]string{
			{"init", "-q", "-b", "main"},
			{"add", "."},
			{"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "one"},
			{"config", "core.fsmonitor", "touch " + marker},
			{"config", "uploadpack.packObjectsHook", "touch " + marker},
			{"config", "core.hooksPath", dir},
			{"config", "core.sshCommand", "touch " + marker},
		} {
			cmd := exec.CommandContext(t.Context(), "git", args...)
			cmd.Dir = dir
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("git %v: %v %s", args, err, out)
			}
		}
	}
	link(t, filepath.Join(outside, "repo"), filepath.Join(root, "linked"))
	r := &source.Reader{Root: root}
	items, err := r.Read(t.Context(), gitSource("repo", "main", nil))
	if want := "README.md repo@main:README.md \"# Hi\\n\"\n"; err != nil || text(items) != want {
		t.Errorf("got %v %s, want %s", err, text(items), want)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	relative, err := filepath.Rel(here, root)
	if err != nil {
		t.Fatal(err)
	}
	if items, err := (&source.Reader{Root: relative}).Read(t.Context(), gitSource("repo", "", nil)); err != nil || len(items) != 1 {
		t.Errorf("with a relative folder: %v %s", err, text(items))
	}
	for _, reference := range []string{"linked", filepath.Join(outside, "repo"), "../x", "none", "."} {
		if items, err := r.Read(t.Context(), gitSource(reference, "", nil)); err == nil {
			t.Errorf("%s: %s", reference, text(items))
		}
	}
	if _, err := os.Stat(marker); err == nil {
		t.Error("the repository's settings ran a command")
	}
}
