package agent_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"companyos/shared/sandbox/sandboxtest"
	"companyos/shared/wire"
)

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// logged finds a duration that the supervisor wrote into its log.
func (p *process) logged(tb testing.TB, message, field string) time.Duration {
	tb.Helper()
	for line := range strings.Lines(p.log.String()) {
		var l map[string]any
		if json.Unmarshal([]byte(line), &l) == nil && l["msg"] == message {
			if n, ok := l[field].(float64); ok {
				return time.Duration(n)
			}
		}
	}
	tb.Fatalf("no %q in\n%s", message, p.log.String())
	return 0
}

// byHand is a checkout as one makes it by hand, and how long it took.
func (b *bundle) byHand(tb testing.TB) time.Duration {
	tb.Helper()
	tip, err := b.repository.Tip("main")
	if err != nil {
		tb.Fatal(err)
	}
	dir := tb.TempDir()
	begun := time.Now()
	for _, args := range [][]string{{"init", "-q", dir}, {"-C", dir, "fetch", "-q", "--depth=1", b.repository.URL, tip}, {"-C", dir, "checkout", "-q", tip}} {
		cmd := exec.CommandContext(tb.Context(), "git", args...)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1"}
		if out, err := cmd.CombinedOutput(); err != nil {
			tb.Fatalf("%v: %s", err, out)
		}
	}
	return time.Since(begun)
}

// BenchmarkBesideTheLock is the pinned checkout of an attempt, beside which the lock is tested, and the same by hand in turn.
func BenchmarkBesideTheLock(b *testing.B) {
	s := setup(b)
	s.crowd(b, 2000)
	tip, err := s.repository.Tip("main")
	if err != nil {
		b.Fatal(err)
	}
	var checkout, git []time.Duration
	for b.Loop() {
		l := s.api.Add(s.work(func(w *wire.Work) { w.Repository.Commit = &tip }), sandboxtest.Script(do("answer", "done")))
		p := s.start(b, l.Token)
		l.Await(b)
		p.wait(b)
		checkout = append(checkout, p.logged(b, "checked out", "took"))
		git = append(git, s.byHand(b))
	}
	b.ReportMetric(ms(median(checkout)), "checkout-ms")
	b.ReportMetric(ms(median(git)), "git-ms")
	b.ReportMetric(median(checkout).Seconds()/median(git).Seconds(), "ratio")
}

// BenchmarkOverhead is the time from the start of a supervisor to the first command of its agent, without the checkout and
// without what of the lock's self-test is left after it, beside a bare start of the same programs.
func BenchmarkOverhead(b *testing.B) {
	s := setup(b)
	stamp := []string{"date", "+%s%N"}
	input, err := json.Marshal(map[string]any{"turn": sandboxtest.Script(do("run", stamp), do("answer_output", true))["script"].(map[string]any)["turns"].([]any)[0]})
	if err != nil {
		b.Fatal(err)
	}
	var whole, overhead, lock, bare []time.Duration
	for b.Loop() {
		l := s.api.Add(s.work(nil), sandboxtest.Script(do("run", stamp), do("answer_output", true)))
		begun := time.Now()
		p := s.start(b, l.Token)
		at := stamped(b, l.Await(b).Content)
		p.wait(b)
		waited := p.logged(b, "the lock is tested", "waited")
		whole = append(whole, at.Sub(begun))
		lock = append(lock, waited)
		overhead = append(overhead, at.Sub(begun)-p.logged(b, "checked out", "took")-waited)

		cmd := exec.CommandContext(b.Context(), os.Args[0], "sandbox", "fixture")
		cmd.Stdin, cmd.Dir = strings.NewReader(string(input)), b.TempDir()
		begun = time.Now()
		out, err := cmd.Output()
		if err != nil {
			b.Fatalf("%v: %s", err, out)
		}
		for line := range strings.Lines(string(out)) {
			var e struct{ Type, Text string }
			if json.Unmarshal([]byte(line), &e) == nil && e.Type == "answer" {
				bare = append(bare, stamped(b, e.Text).Sub(begun))
			}
		}
	}
	b.ReportMetric(ms(median(overhead)), "overhead-ms")
	b.ReportMetric(ms(median(lock)), "lock-wait-ms")
	b.ReportMetric(ms(median(whole)), "whole-ms")
	b.ReportMetric(ms(median(bare)), "bare-ms")
}

func stamped(tb testing.TB, text string) time.Time {
	tb.Helper()
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil {
		tb.Fatal(err)
	}
	return time.Unix(0, n)
}
