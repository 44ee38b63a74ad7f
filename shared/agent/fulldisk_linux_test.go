package agent_test

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"companyos/shared/agent"
	"companyos/shared/sandbox/sandboxtest"
	"companyos/shared/task"
	"companyos/shared/wire"
)

// TestFullDisk: an agent that fills the disk is told so in its end, keeps its answer, and what it changed before that.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		return // only root makes a small disk
	}
	for name, tt := range map[string]struct {
		script string
		kind   task.EndKind
	}{
		"outside the patch": {`echo two >> README.md; head -c 1G /dev/zero > "$TMPDIR/fill"`, task.EndCompleted},
		"in the patch":      {`echo two >> README.md; sleep 1; head -c 1G /dev/urandom > fill`, task.EndStorageFull},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			top, err := os.MkdirTemp("", "company-test-") //nolint:usetesting // t.TempDir is closed to other users
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.Remove(top) })
			if err := syscall.Mount("none", top, "tmpfs", 0, "size=200m"); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = syscall.Unmount(top, syscall.MNT_DETACH) })
			l := b.api.Add(b.work(nil), sandboxtest.Script(do("answer", "the answer"), do("run", []string{"sh", "-c", tt.script})))
			p := b.start(t, l.Token, agent.EnvDir+"="+top, agent.EnvSave+"=200ms")
			result := l.Await(t)
			if code := p.wait(t); code != 0 || result == nil {
				t.Fatalf("exit code %d, log:\n%s", code, p.log.String())
			}
			if result.Kind != tt.kind || !strings.HasSuffix(result.Content, "the answer") || result.Patch == nil {
				t.Errorf("result %+v; log:\n%s", result, p.log.String())
			}
			if patch := string(l.Artifact(wire.ArtifactPatch)); !strings.Contains(patch, "+two") {
				t.Errorf("patch %.1000s", patch)
			}
		})
	}
}
