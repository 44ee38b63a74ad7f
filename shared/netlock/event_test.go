package netlock

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func anonymous() string { return "" }

// collector is a sink that can be looked at while it is in use.
type collector struct {
	mu  sync.Mutex
	all []Event
}

func (c *collector) sink(e Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, e)
}

func (c *collector) events() []Event {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.all)
}

func TestEventsAreFolded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var c collector
		r := newRecorder(c.sink)
		for range 1000 {
			r.add(Event{Verdict: VerdictDeny, Call: "connect", Target: "192.0.2.1:443", PID: 7}, anonymous)
		}
		synctest.Wait()
		got := c.events()
		if len(got) != 1 || got[0].Count != 1 {
			t.Fatalf("at once: %v", got)
		}
		time.Sleep(eventWindow + time.Millisecond)
		synctest.Wait()
		got = c.events()
		if len(got) != 2 || got[1].Count != 999 || got[1].PID != 7 {
			t.Fatalf("after the window: %v", got)
		}
		time.Sleep(3 * eventWindow)
		r.add(Event{Verdict: VerdictDeny, Call: "connect", Target: "192.0.2.1:443"}, anonymous)
		synctest.Wait()
		got = c.events()
		if len(got) != 3 || got[2].Count != 1 {
			t.Fatalf("news again: %v", got)
		}
		r.close()
	})
}

func TestEventsAreLimited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var got []Event
		r := newRecorder(func(e Event) { got = append(got, e) })
		for i := range 50_000 {
			r.add(Event{Verdict: VerdictDeny, Call: "connect", Target: fmt.Sprintf("192.0.2.1:%d", i)}, anonymous)
		}
		r.close()
		total := 0
		for _, e := range got {
			total += e.Count
		}
		if len(got) > eventsWindow+1 || total != 50_000 || got[len(got)-1].Verdict != VerdictNote {
			t.Errorf("%d events for %d calls; last %v", len(got), total, got[len(got)-1])
		}
	})
}

func TestEventsAfterASlowSink(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var got []Event
		r := newRecorder(func(e Event) { time.Sleep(time.Minute); got = append(got, e) })
		begin := time.Now()
		for i := range 1000 {
			r.add(Event{Call: "connect", Target: fmt.Sprint(i % 3)}, anonymous)
		}
		if time.Since(begin) != 0 {
			t.Error("add waited for the sink")
		}
		r.close()
		if len(got) != 6 {
			t.Errorf("%v", got)
		}
	})
}

func TestEventExplains(t *testing.T) {
	t.Parallel()
	for want, e := range map[string]Event{
		"refused: connection to 192.0.2.1:443":           {Verdict: VerdictDeny, Call: "connect", Target: "192.0.2.1:443", Count: 1},
		"refused: connection to 192.0.2.1:443 (9 times)": {Verdict: VerdictDeny, Call: "connect", Target: "192.0.2.1:443", Count: 9},
		"allowed: connection to 127.0.0.1:1":             {Verdict: VerdictAllow, Call: "connect", Target: "127.0.0.1:1", Count: 1},
		"refused: serving on TCP":                        {Verdict: VerdictDeny, Call: "listen", Target: "TCP", Count: 1},
		"refused: socket IPv4 datagram":                  {Verdict: VerdictDeny, Call: "socket", Target: "IPv4 datagram", Count: 1},
		"dropped":                                        {Verdict: VerdictNote, Target: "dropped", Count: 1},
	} {
		if got := e.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A command chooses paths and names: they must not write on a terminal or a log.
func TestEventTextIsTame(t *testing.T) {
	t.Parallel()
	var got []Event
	r := newRecorder(func(e Event) { got = append(got, e) })
	r.add(Event{Target: "unix:/a\x1b]0;x\a\n\u202e\xff" + strings.Repeat("x", 1000)}, anonymous)
	r.close()
	if len(got) != 1 || len(got[0].Target) > eventTarget+4 || !strings.HasPrefix(got[0].Target, "unix:/a?]0;x????x") {
		t.Errorf("%q", got)
	}
}
