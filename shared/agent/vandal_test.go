package agent_test

import (
	"strings"
	"testing"

	"companyos/shared/sandbox/sandboxtest"
	"companyos/shared/task"
	"companyos/shared/wire"
)

// TestVandal: whatever an agent does to its own files, its answer arrives, and so do the changes that can still be read.
func TestVandal(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		script  string
		patch   string // a part of it; empty: there is none
		warning string
	}{
		{"closed workspace", "echo two >> README.md; chmod 000 .", "+two", ""},
		{"closed TMPDIR", `echo two >> README.md; chmod 000 "$TMPDIR"`, "+two", ""},
		{"closed folders", "mkdir -p a/b; echo two > a/b/c; chmod 000 a/b a", "+two", ""},
		{"closed file", "echo two >> README.md; echo x > closed; chmod 000 closed", "+two", "closed"},
		{"everything deleted", "rm -rf ./* ./.[!.]*", "deleted file", ""},
		{"workspace moved away", "echo two >> README.md; mv ../workspace ../other; rmdir ../workspace; ln -s / ../workspace", "+two", ""},
		{"git is a pipe", "rm -rf .git; mkfifo .git; echo two >> README.md", "+two", ""},
		{"git is a link", "rm -rf .git; ln -s / .git; echo two >> README.md", "+two", ""},
		{"pipes where git reads", "mkfifo .gitignore .gitattributes; mkdir -p sub/.git/refs sub/.git/objects; mkfifo sub/.git/HEAD sub/.git/packed-refs; echo two >> README.md", "+two", ""},
		{"a pipe behind a link", `mkfifo "$TMPDIR/pipe"; mkdir -p sub/.git/refs sub/.git/objects; ln -s "$TMPDIR/pipe" sub/.git/HEAD; echo two >> README.md`, "+two", ""},
		{"no room for the snapshot", `mkdir -p "$TMPDIR/snapshot.git/a/b"; touch "$TMPDIR/snapshot.git/a/b/c"; chmod 000 "$TMPDIR/snapshot.git/a" "$TMPDIR/snapshot.git"; echo two >> README.md`, "+two", ""},
		{"a file for the snapshot", `touch "$TMPDIR/snapshot.git"; echo two >> README.md`, "+two", ""},
		{"a link for the snapshot", `ln -s "$PWD" "$TMPDIR/snapshot.git"; echo two >> README.md`, "+two", ""},
		{"too deep", `echo two >> README.md; d=$(printf '%0200d' 0); for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25; do mkdir $d && cd -P $d || exit; done; echo deep > f`, "+two", ""},
		{"odd names", `echo two >> README.md; touch "$(printf 'a\nb')" "$(printf '\377\376')" "$(printf '%0255d' 0)" ' ' '"' '-rf'`, "+two", ""},
		{"no conversation", `echo two >> README.md; rm -rf "$HOME"/*; chmod 500 "$HOME"`, "+two", "left no conversation"},
		{"conversation is a pipe", `echo two >> README.md; mkfifo "$HOME/transcript.jsonl"; (sleep 3; cat "$HOME/transcript.jsonl" >/dev/null) >/dev/null 2>&1 &`, "+two", "left no conversation"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			l, result, p := b.run(t, nil, sandboxtest.Script(do("answer", "the answer"), do("run", []string{"sh", "-c", tt.script})))
			patch := string(l.Artifact(wire.ArtifactPatch))
			if result.Kind != task.EndCompleted || result.Content != "the answer" {
				t.Errorf("result %+v; log:\n%s", result, p.log.String())
			}
			if !strings.Contains(patch, tt.patch) {
				t.Errorf("patch:\n%.2000s\n%s", patch, l.Artifact(wire.ArtifactLog))
			}
			var warnings strings.Builder
			for _, e := range l.Events() {
				if e.Type == wire.EventWarning {
					warnings.WriteString(e.Text + "\n")
				}
			}
			if got := warnings.String(); tt.warning != "" && !strings.Contains(got, tt.warning) {
				t.Errorf("warnings %q", got)
			}
		})
	}
}
