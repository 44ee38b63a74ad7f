package agent

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"companyos/shared/agent/gittest"
	"companyos/shared/task"
)

// bench is a git host with one repository, and a place for a sandbox's files that an agent's user can pass through.
type bench struct {
	host       *gittest.Server
	repository *gittest.Repository
	tip        string
	layout     layout
	git        git
}

var lastUser atomic.Int64

// testUser is a user of its own for the agent where the tests run as root, else nil.
func testUser() *User {
	if os.Getuid() != 0 {
		return nil
	}
	id := 3_000_000 + os.Getpid()%20_000*100 + int(lastUser.Add(1)) // of no other test that runs
	return &User{UID: id, GID: id}
}

func setup(t testing.TB) *bench {
	t.Helper()
	host, err := gittest.Start(t.TempDir(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = host.Close() })
	b := &bench{host: host}
	if b.repository, err = host.Create("octocat/hello"); err != nil {
		t.Fatal(err)
	}
	b.tip = b.commit(t, gittest.Commit{Message: "first", Files: map[string]gittest.File{
		"README.md": {Content: "Hello World!\n"}, "a/b.txt": {Content: "one\n"}, "run.sh": {Content: "#!/bin/sh\n", Executable: true},
		"link": {Symlink: "../../../etc/passwd"},
	}})
	dir, err := os.MkdirTemp("", "company-test-") //nolint:usetesting // t.TempDir is closed to other users
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	user := testUser()
	if b.layout, err = newLayout(filepath.Join(dir, "launch"), user); err != nil {
		t.Fatal(err)
	}
	path, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	b.git = git{path: path, home: b.layout.empty, user: user}
	return b
}

func (b *bench) commit(t testing.TB, c gittest.Commit) string {
	t.Helper()
	if c.Branch == "" {
		c.Branch = "main"
	}
	id, err := b.repository.Commit(c)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func (b *bench) checkout(change func(*checkout)) *checkout {
	c := &checkout{
		git: b.git, url: b.repository.URL, branch: "main", base: b.layout.base, workspace: b.layout.workspace,
		maxBytes: 16 << 20, patience: 700 * time.Millisecond,
	}
	if change != nil {
		change(c)
	}
	return c
}

// inside runs a command in the workspace as the agent would.
func (b *bench) inside(t *testing.T, args ...string) string {
	t.Helper()
	out, err := child{
		args: args, dir: b.layout.workspace, user: b.git.user,
		env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + b.layout.empty, "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C"},
	}.run(t.Context())
	if err != nil {
		t.Fatalf("%s: %v", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out))
}

func TestCheckoutOfABranch(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.commit(t, gittest.Commit{Branch: "feature/main", Message: "a longer name that ends alike", Files: map[string]gittest.File{"x": {Content: "x"}}})
	commit, warnings, err := b.checkout(nil).run(t.Context())
	if err != nil || commit != b.tip || len(warnings) != 0 {
		t.Fatalf("run: %s, %v, %v; want %s", commit, warnings, err, b.tip)
	}
	for _, is := range []struct{ want, got string }{
		{b.tip, b.inside(t, "git", "rev-parse", "HEAD")},
		{"HEAD", b.inside(t, "git", "rev-parse", "--abbrev-ref", "HEAD")},
		{"", b.inside(t, "git", "status", "--porcelain")},
		{"", b.inside(t, "git", "remote")},
		{"1", b.inside(t, "git", "rev-list", "--count", "HEAD")},
		{"Hello World!", b.inside(t, "cat", "README.md")},
		{"../../../etc/passwd", b.inside(t, "readlink", "link")},
		{"yes", b.inside(t, "sh", "-c", "test -x run.sh && echo yes")},
		{"", b.inside(t, "sh", "-c", "ls .git/hooks 2>/dev/null || true")},
	} {
		if is.got != is.want {
			t.Errorf("got %q, want %q", is.got, is.want)
		}
	}
	if b.git.user != nil { // as root the base is out of the agent's reach
		if _, err := (child{args: []string{"sh", "-c", "echo x >> " + b.layout.base + "/HEAD"}, dir: "/", user: b.git.user}).run(t.Context()); err == nil {
			t.Error("the agent can write to the base repository")
		}
	}
}

func TestCheckoutOfAPin(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.commit(t, gittest.Commit{Message: "later", Files: map[string]gittest.File{"LATER": {Content: "x"}}})
	if err := b.repository.DeleteBranch("main"); err != nil { // on no branch any more, and still there
		t.Fatal(err)
	}
	b.commit(t, gittest.Commit{Message: "other history", Files: map[string]gittest.File{"OTHER": {Content: "x"}}})
	commit, _, err := b.checkout(func(c *checkout) { c.commit = b.tip }).run(t.Context())
	if err != nil || commit != b.tip {
		t.Fatalf("run: %s, %v", commit, err)
	}
	if got := b.inside(t, "ls"); got != "README.md\na\nlink\nrun.sh" {
		t.Errorf("files %q", got)
	}
	for _, request := range b.host.Requests() {
		if strings.Contains(request.Path, "receive-pack") {
			t.Errorf("request %+v", request)
		}
	}
}

func TestCheckoutFails(t *testing.T) {
	t.Parallel()
	const absent = "0123456789012345678901234567890123456789"
	tests := []struct {
		name   string
		fault  gittest.Fault
		before func(*testing.T, *bench)
		change func(*checkout)
		limit  time.Duration
		kind   task.EndKind
		which  string
	}{
		{name: "no repository", fault: gittest.FaultNotFound, kind: task.EndRepositoryNotFound},
		{name: "unauthorized", fault: gittest.FaultUnauthorized, kind: task.EndRepositoryUnauthorized},
		{name: "forbidden", fault: gittest.FaultForbidden, kind: task.EndRepositoryUnauthorized},
		{name: "moved", fault: gittest.FaultRedirect, kind: task.EndRepositoryNotFound},
		{name: "host in trouble", fault: gittest.FaultUnavailable, kind: task.EndCheckoutTimeout},
		{name: "host hangs", fault: gittest.FaultHang, limit: 500 * time.Millisecond, kind: task.EndCheckoutTimeout, which: LimitPrepare},
		{name: "endless pack", fault: gittest.FaultHuge, kind: task.EndCheckoutTooLarge},
		{name: "nobody listens", change: func(c *checkout) { c.url = "http://127.0.0.1:1/octocat/hello" }, kind: task.EndCheckoutTimeout},
		{name: "no branch", change: func(c *checkout) { c.branch = "none" }, kind: task.EndBranchMissing},
		{name: "the end of a branch's name", before: func(t *testing.T, b *bench) {
			t.Helper()
			b.commit(t, gittest.Commit{Branch: "x/dev", Message: "x", Files: map[string]gittest.File{"x": {}}})
		}, change: func(c *checkout) { c.branch = "dev" }, kind: task.EndBranchMissing},
		{name: "no commit", change: func(c *checkout) { c.commit = absent }, kind: task.EndCommitMissing},
		{name: "half a commit", change: func(c *checkout) { c.commit = absent[:12] }, kind: task.EndCommitMissing},
		{name: "an option as commit", change: func(c *checkout) { c.commit = "--upload-pack=touch /tmp/owned" }, kind: task.EndCommitMissing},
		{name: "pruned commit", before: func(t *testing.T, b *bench) {
			t.Helper()
			if err := errors.Join(b.repository.DeleteBranch("main"), b.repository.Prune()); err != nil {
				t.Fatal(err)
			}
		}, change: func(c *checkout) { c.commit = "tip" }, kind: task.EndCommitMissing},
		{name: "large files", before: func(t *testing.T, b *bench) {
			t.Helper()
			b.commit(t, gittest.Commit{Message: "large", Files: map[string]gittest.File{"zeros": {Content: strings.Repeat("\x00", 20<<20)}}})
		}, kind: task.EndCheckoutTooLarge},
		{name: "another protocol", change: func(c *checkout) { c.url = "file:///etc" }, kind: task.EndInternal},
		{name: "a command as URL", change: func(c *checkout) { c.url = "ext::sh -c touch% /tmp/owned" }, kind: task.EndInternal},
		{name: "an option as URL", change: func(c *checkout) { c.url = "--upload-pack=/bin/true" }, kind: task.EndInternal},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			if tt.before != nil {
				tt.before(t, b)
			}
			b.host.SetFault(b.repository.Name, tt.fault)
			c := b.checkout(tt.change)
			if c.commit == "tip" {
				c.commit = b.tip
			}
			ctx, cancel := withLimit(t.Context(), tt.limit, &EndError{Kind: task.EndCheckoutTimeout, Limit: LimitPrepare})
			defer cancel()
			_, _, err := c.run(ctx)
			f, ok := errors.AsType[*EndError](err)
			if !ok || f.Kind != tt.kind || f.Limit != tt.which {
				t.Fatalf("run: %v; want %s", err, tt.kind)
			}
			for _, request := range b.host.Requests() {
				if strings.HasPrefix(request.Path, "/redirected") {
					t.Errorf("a redirect was followed: %+v", request)
				}
			}
		})
	}
}

func TestCheckoutWithAToken(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const token = "ghs_CANARY"
	b.host.RequireToken(b.repository.Name, token)
	if _, _, err := b.checkout(func(c *checkout) { c.token = "wrong" }).run(t.Context()); failureOf(err).Kind != task.EndRepositoryUnauthorized {
		t.Fatalf("with a wrong token: %v", err)
	}
	fresh := setup(t)
	fresh.host.RequireToken(fresh.repository.Name, token)
	if _, _, err := fresh.checkout(func(c *checkout) { c.token = token }).run(t.Context()); err != nil {
		t.Fatal(err)
	}
	found, err := exec.CommandContext(t.Context(), "grep", "-rl", "-e", token, "-e", "eC1hY2Nlc3MtdG9rZW46", filepath.Dir(fresh.layout.base)).Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 1 {
		t.Errorf("the token is in %s (%v)", found, err)
	}
}

func TestCheckoutWarns(t *testing.T) {
	t.Parallel()
	b := setup(t)
	pointer := lfsPointer + "\noid sha256:" + strings.Repeat("4d", 32) + "\nsize 12345\n"
	b.commit(t, gittest.Commit{Message: "more", Files: map[string]gittest.File{
		"vendor/lib":     {Submodule: b.tip},
		".gitmodules":    {Content: "[submodule \"vendor/lib\"]\n\tpath = vendor/lib\n\turl = https://127.0.0.1/x/y\n"},
		".gitattributes": {Content: "*.bin filter=lfs diff=lfs merge=lfs -text\n"},
		"big.bin":        {Content: pointer},
		"b\xff\xfeg.bin": {Content: pointer},
		"not.bin":        {Content: strings.Repeat("no pointer\n", 20)},
	}})
	_, warnings, err := b.checkout(nil).run(t.Context())
	if err != nil || len(warnings) != 2 {
		t.Fatalf("run: %+v, %v", warnings, err)
	}
	if !slices.Equal(warnings[0].paths, []string{"vendor/lib"}) || !strings.Contains(warnings[0].text, "vendor/lib") {
		t.Errorf("submodules: %+v", warnings[0])
	}
	if !slices.Equal(warnings[1].paths, []string{"big.bin", "b\uFFFDg.bin"}) {
		t.Errorf("pointers: %+v", warnings[1])
	}
	if got := b.inside(t, "ls", "-A", "vendor/lib"); got != "" {
		t.Errorf("the submodule holds %q", got)
	}
	if got := b.inside(t, "cat", "big.bin"); got != strings.TrimSpace(pointer) {
		t.Errorf("big.bin is %q", got)
	}
	for _, request := range b.host.Requests() {
		if strings.Contains(request.Path, "x/y") || strings.Contains(request.Path, "lfs") {
			t.Errorf("request %+v", request)
		}
	}
}

// TestCheckoutRunsNothing: what a repository can bring along to make git run a command.
func TestCheckoutRunsNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	marker := filepath.Join(b.layout.scratch, "owned")
	script := "#!/bin/sh\ntouch " + marker + "\n"
	b.commit(t, gittest.Commit{Message: "hostile", Files: map[string]gittest.File{
		".gitattributes":      {Content: "* filter=evil diff=evil merge=evil\n"},
		".gitconfig":          {Content: "[filter \"evil\"]\n\tsmudge = touch " + marker + "\n[core]\n\tfsmonitor = touch " + marker + "\n"},
		"hooks/post-checkout": {Content: script, Executable: true},
		".githooks/x":         {Content: script, Executable: true},
		"bare/HEAD":           {Content: "ref: refs/heads/main\n"},
		"bare/config":         {Content: "[core]\n\trepositoryformatversion = 0\n\tbare = true\n\tfsmonitor = touch " + marker + "\n"},
		"bare/objects/x":      {}, "bare/refs/x": {},
	}})
	if _, _, err := b.checkout(nil).run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(marker); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a command of the repository's ran: %v", err)
	}
}

func TestGitSays(t *testing.T) {
	t.Parallel()
	tests := map[string]task.EndKind{
		"error: unable to write file x: No space left on device\nfatal: unable to write":                       task.EndStorageFull,
		"error: unable to write file big\nfatal: sha1 file '/w/.git/index.lock' write error. Out of diskspace": task.EndStorageFull,
		"fatal: write error: Disk quota exceeded":                                                              task.EndStorageFull,
		"fatal: could not read Username for 'https://github.com': terminal prompts disabled":                   task.EndRepositoryUnauthorized,
		"remote: Repository not found.\nfatal: repository 'https://github.com/o/r/' not found":                 task.EndRepositoryNotFound,
		"fatal: remote error: upload-pack: not our ref 0123":                                                   task.EndCommitMissing,
		"fatal: something else": task.EndInternal,
	}
	for stderr, want := range tests {
		err := (&checkout{}).classify(&childError{name: "git", exit: 128, stderr: stderr, err: errors.New("exit status 128")})
		if got := failureOf(err).Kind; got != want {
			t.Errorf("%q is %s, want %s", stderr, got, want)
		}
	}
	if got := failureOf((&checkout{}).classify(context.Canceled)).Kind; got != task.EndInternal {
		t.Errorf("an unknown error is %s", got)
	}
}
