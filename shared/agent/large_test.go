package agent_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"companyos/shared/agent/gittest"
	"companyos/shared/sandbox/sandboxtest"
	"companyos/shared/task"
	"companyos/shared/wire"
)

// crowd makes a repository of many small files, each of the size that a pointer of Git LFS may have.
func (b *bundle) crowd(tb testing.TB, files int) {
	tb.Helper()
	c := gittest.Commit{Branch: "main", Message: "many", Files: map[string]gittest.File{".gitattributes": {Content: "*.bin filter=lfs\n"}}}
	for i := range files {
		content := strings.Repeat(fmt.Sprintf("line %d\n", i), 12)
		c.Files[fmt.Sprintf("pkg%03d/part%02d/file%06d.txt", i/1000, i/100%10, i)] = gittest.File{Content: content}
	}
	pointer := "version https://git-lfs.github.com/spec/v1\noid sha256:" + strings.Repeat("0", 64) + "\nsize 12345\n"
	c.Files["zz/last.bin"] = gittest.File{Content: pointer}
	if _, err := b.repository.Commit(c); err != nil {
		tb.Fatal(err)
	}
}

// large runs an agent that changes, adds and deletes files of a repository of many, while its patch is saved again and
// again, and returns the supervisor and the most that it had in memory, in KiB.
func (b *bundle) large(tb testing.TB) (*process, int) {
	tb.Helper()
	script := "echo changed >> pkg000/part00/file000007.txt && rm pkg000/part01/file000123.txt && mkdir new && for i in 1 2 3; do echo $i > new/$i; done && git mv pkg000/part02 pkg000/moved"
	l := b.api.Add(b.work(nil), sandboxtest.Script(do("run", []string{"sh", "-c", script}), do("sleep", "2s"), do("answer", "done")))
	p := b.start(tb, l.Token, "COMPANY_SAVE_EVERY=500ms")
	peak := make(chan int, 1)
	go func() { peak <- peakMemory(p.cmd.Process.Pid) }()
	result := l.AwaitFor(tb, 3*time.Minute)
	if code := p.wait(tb); code != 0 || result == nil || result.Kind != task.EndCompleted {
		tb.Fatalf("exit code %d, result %+v, log:\n%s", code, result, p.log.String())
	}
	patch := string(l.Artifact(wire.ArtifactPatch))
	for _, part := range []string{"\n+changed\n", "deleted file mode 100644", "+++ b/new/3", "rename to pkg000/moved/file000200.txt"} {
		if !strings.Contains(patch, part) {
			tb.Errorf("the patch lacks %q", part)
		}
	}
	if result.Patch.Files != 105 {
		tb.Errorf("the patch is of %d files, want 1 changed, 1 deleted, 3 new and 100 moved", result.Patch.Files)
	}
	l.AwaitEvent(tb, "the pointer", func(e wire.Event) bool {
		return e.Type == wire.EventWarning && len(e.Paths) == 1 && e.Paths[0] == "zz/last.bin"
	})
	return p, <-peak
}

// TestManyFiles is BenchmarkManyFiles with fewer.
func TestManyFiles(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.crowd(t, 5000) // more than are looked at together
	_, peak := b.large(t)
	if runtime.GOOS == "linux" && (peak == 0 || peak > 40<<10) {
		t.Errorf("the supervisor took %d KiB, want at most 40 MiB", peak)
	}
}

// TestLargePatch takes a patch of 25 MB out of one sandbox and into the next, neither of which has it in memory.
func TestLargePatch(t *testing.T) {
	t.Parallel()
	b := setup(t)
	look := do("run", []string{"sh", "-c", "sha256sum < big"})
	play := func(patch *wire.WorkPatch, steps ...map[string]any) (*sandboxtest.Launch, *wire.ResultFile) {
		l := b.api.Add(b.work(func(w *wire.Work) { w.Patch = patch }), sandboxtest.Script(steps...))
		p := b.start(t, l.Token)
		peak := make(chan int, 1)
		go func() { peak <- peakMemory(p.cmd.Process.Pid) }()
		result := l.AwaitFor(t, time.Minute)
		if code := p.wait(t); code != 0 || result == nil || result.Kind != task.EndCompleted || result.Patch == nil {
			t.Fatalf("exit code %d, result %+v, log:\n%s", code, result, p.log.String())
		}
		if got := <-peak; runtime.GOOS == "linux" && (got == 0 || got > 40<<10) {
			t.Errorf("the supervisor took %d KiB, want at most 40 MiB", got)
		}
		return l, result
	}
	l, first := play(nil, do("run", []string{"sh", "-c", "head -c 20971520 /dev/urandom > big"}), look, do("answer_output", true))
	patch := l.Artifact(wire.ArtifactPatch)
	_, second := play(&wire.WorkPatch{URL: b.api.Put("large", patch), SHA256: first.Patch.SHA256}, look, do("answer_output", true))
	if len(patch) < 20<<20 || second.Content != first.Content || second.Patch.SHA256 != first.Patch.SHA256 {
		t.Errorf("a patch of %d bytes: %+v, then %+v", len(patch), first, second)
	}
}

// BenchmarkManyFiles is an attempt on a repository of 200,000 files: its checkout beside git's own, what the supervisor had
// in memory, and the whole. Run it with -benchtime 1x.
func BenchmarkManyFiles(b *testing.B) {
	s := setup(b)
	s.crowd(b, 200_000)
	for b.Loop() {
		begun := time.Now()
		p, peak := s.large(b)
		whole := time.Since(begun)
		b.ReportMetric(float64(peak)/1024, "peak-MiB")
		b.ReportMetric(whole.Seconds(), "whole-s")
		b.ReportMetric(p.logged(b, "checked out", "took").Seconds(), "checkout-s")

		b.ReportMetric(s.byHand(b).Seconds(), "git-s")
	}
}
