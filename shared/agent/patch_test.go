package agent

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"companyos/shared/agent/redact"
	"companyos/shared/task"
)

// checkedOut is a bench whose workspace stands.
func checkedOut(t *testing.T) *bench {
	t.Helper()
	b := setup(t)
	if _, _, err := b.checkout(nil).run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := b.layout.hand(b.git.user); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bench) take(t *testing.T, change func(*snapshot)) (*patch, string, error) {
	t.Helper()
	s := &snapshot{
		self: []string{ownBinary(), "sandbox"}, git: b.git, base: b.layout.base, workspace: b.layout.workspace, scratch: b.layout.scratch, commit: b.tip,
		limit: 1 << 20, redact: redact.New("canary-secret"),
	}
	if change != nil {
		change(s)
	}
	to := filepath.Join(b.layout.private, "patch")
	p, err := s.take(t.Context(), to, time.Unix(1, 0))
	if p == nil || err != nil {
		return p, "", err
	}
	text, err := os.ReadFile(to)
	if err != nil {
		t.Fatal(err)
	}
	return p, string(text), nil
}

// TestPatchRoundTrip changes a workspace in every way, and puts the patch on a fresh one.
func TestPatchRoundTrip(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		script string
		files  int
		look   string // prints the same in both workspaces
		holds  []string
	}{
		{"text", "echo two >> a/b.txt", 1, "cat a/b.txt", []string{"+two"}},
		{"binary", `printf '\000\001\377bin' > new.bin`, 1, "od -c new.bin", []string{"GIT binary patch"}},
		{"mode", "chmod -x run.sh; chmod +x README.md", 2, "ls -l run.sh README.md | cut -c1-10", []string{"old mode 100755", "new mode 100755"}},
		{"rename", "mkdir c && git mv a/b.txt c/d.txt", 1, "cat c/d.txt; ls c", []string{"rename from a/b.txt"}},
		{"delete", "rm README.md; rm -r a", 2, "ls", []string{"deleted file mode 100644"}},
		{"symlinks", "ln -s /etc/passwd out; ln -sfn elsewhere link; rm README.md; ln -s /proc/self/environ README.md", 4, "readlink out link README.md", []string{"new file mode 120000"}},
		{"agent's commits", "echo two >> a/b.txt; git add -A; git -c user.name=a -c user.email=a@b commit -qm x", 1, "cat a/b.txt", []string{"+two"}},
		{"names", `touch 'a b' "q\"t" 'tab	x' "$(printf 'l\377tin')" -- --option`, 5, "ls -b", nil},
		{"empty file", "touch empty", 1, "ls", nil},
		{"no newline at the end", "printf x > README.md", 1, "od -c README.md", []string{`\ No newline at end of file`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := checkedOut(t)
			b.inside(t, "sh", "-c", tt.script)
			p, text, err := b.take(t, nil)
			if err != nil || p == nil {
				t.Fatalf("take: %+v, %v", p, err)
			}
			if p.files != tt.files || p.redacted || len(p.warnings) != 0 {
				t.Errorf("patch %+v, want %d files", p, tt.files)
			}
			for _, part := range tt.holds {
				if !strings.Contains(text, part) {
					t.Errorf("the patch lacks %q:\n%s", part, text)
				}
			}
			if strings.Contains(text, "root:") {
				t.Error("a link was followed")
			}
			want := b.inside(t, "sh", "-c", tt.look)
			fresh := checkedOut(t)
			if err := restore(t.Context(), fresh.git, fresh.layout.workspace, strings.NewReader(text)); err != nil {
				t.Fatalf("restore: %v\n%s", err, text)
			}
			if got := fresh.inside(t, "sh", "-c", tt.look); got != want {
				t.Errorf("after restore:\n%s\nwant:\n%s", got, want)
			}
			if _, again, err := fresh.take(t, nil); err != nil || again != text {
				t.Errorf("the restored workspace gives another patch (%v):\n%s\nwant:\n%s", err, again, text)
			}
		})
	}
}

func TestPatchOfNothing(t *testing.T) {
	t.Parallel()
	b := checkedOut(t)
	b.inside(t, "sh", "-c", "touch README.md; mkdir empty; mkfifo pipe; mkdir -p .git/info; printf 'pipe\nignored\n' > .git/info/exclude")
	if p, _, err := b.take(t, nil); p != nil || err != nil {
		t.Errorf("take: %+v, %v", p, err)
	}
}

// TestPatchRunsNothing: the agent's own .git is full of commands, and none of them runs.
func TestPatchRunsNothing(t *testing.T) {
	t.Parallel()
	b := checkedOut(t)
	marker := filepath.Join(b.layout.scratch, "owned")
	b.inside(t, "sh", "-c", fmt.Sprintf(`
		evil="touch %s; cat"
		git config core.fsmonitor "$evil"; git config core.hooksPath .hooks; git config filter.evil.clean "$evil"; git config filter.evil.process "$evil"
		git config diff.evil.textconv "$evil"; git config diff.evil.command "$evil"; git config diff.external "$evil"
		printf '* filter=evil diff=evil\n' > .gitattributes
		mkdir .hooks; printf '#!/bin/sh\n%%s\n' "$evil" > .hooks/post-index-change; chmod +x .hooks/*
		mkdir -p %s/snapshot.git && cp -r .git/. %s/snapshot.git
		git init -q sub && cd sub && git config core.fsmonitor "$evil" && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x
	`, marker, b.layout.scratch, b.layout.scratch))
	b.inside(t, "rm", "-f", marker) // the set-up's own git commands ran it
	p, text, err := b.take(t, nil)
	if err != nil || p == nil || !strings.Contains(text, "+* filter=evil") {
		t.Fatalf("take: %+v, %v\n%s", p, err, text)
	}
	if len(p.warnings) != 1 || !strings.Contains(p.warnings[0].text, "inside the workspace") {
		t.Errorf("warnings %+v", p.warnings)
	}
	if _, err := os.Lstat(marker); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a command of the agent's ran: %v", err)
	}
}

func TestPatchWithoutTheAgentsGit(t *testing.T) {
	t.Parallel()
	b := checkedOut(t)
	b.inside(t, "sh", "-c", "rm -rf .git; echo two >> README.md; ln -s / .git")
	if _, text, err := b.take(t, nil); err != nil || !strings.Contains(text, "+two") || strings.Contains(text, ".git") {
		t.Errorf("take: %v\n%s", err, text)
	}
}

func TestPatchLimits(t *testing.T) {
	t.Parallel()
	b := checkedOut(t)
	b.inside(t, "sh", "-c", "head -c 300000 /dev/urandom > big; printf 'the canary-secret is out\n' > leak; head -c 1000 /dev/zero > closed; chmod 000 closed")
	_, _, err := b.take(t, func(s *snapshot) { s.limit = 100_000 })
	if f := failureOf(err); f.Kind != task.EndOutputLimit || f.Limit != LimitOutput {
		t.Errorf("past the limit: %v", err)
	}
	p, text, err := b.take(t, nil)
	if err != nil || !p.redacted || strings.Contains(text, "canary") || !strings.Contains(text, "+the "+redact.Marker+" is out") {
		t.Errorf("take: %+v, %v", p, err)
	}
	// Root of its own needs no right to read a file; an agent's user does.
	if (b.git.user != nil || os.Getuid() != 0) && (len(p.warnings) != 1 || !strings.Contains(p.warnings[0].text, "closed")) {
		t.Errorf("warnings %+v", p.warnings)
	}
}

func TestRestoreRefuses(t *testing.T) {
	t.Parallel()
	header := "diff --git a/%[1]s b/%[1]s\nnew file mode 100644\nindex 0000000000000000000000000000000000000000..257cc5642cb1a054f08cc83f2d943e56fd3ebe99\n--- /dev/null\n+++ b/%[1]s\n@@ -0,0 +1 @@\n+foo\n"
	tests := map[string]string{
		"outside":       fmt.Sprintf(header, "../outside"),
		"in .git":       fmt.Sprintf(header, ".git/hooks/post-checkout"),
		"absolute":      fmt.Sprintf(header, "/tmp/company-owned"),
		"behind a link": "diff --git a/d b/d\nnew file mode 120000\nindex 0000000000000000000000000000000000000000..cad2309100c54f4a9d43fd4e3b9b25b1e5ad5f4d\n--- /dev/null\n+++ b/d\n@@ -0,0 +1 @@\n+/tmp\n\\ No newline at end of file\n" + fmt.Sprintf(header, "d/company-owned"),
		"another base":  "diff --git a/README.md b/README.md\n--- a/README.md\n+++ b/README.md\n@@ -1 +1 @@\n-Bye World!\n+x\n",
		"not a patch":   "hello\n",
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := checkedOut(t)
			err := restore(t.Context(), b.git, b.layout.workspace, strings.NewReader(text))
			if f := failureOf(err); err == nil || f.Kind != task.EndInternal || !strings.Contains(f.Text, "could not be put back") {
				t.Errorf("restore: %v", err)
			}
			if got := b.inside(t, "git", "status", "--porcelain"); got != "" {
				t.Errorf("it left %q", got)
			}
		})
	}
}
