package task_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"companyos/shared/task"
)

func TestWhatIsAsked(t *testing.T) {
	t.Parallel()
	launching := func(change func(*task.Run)) task.Run {
		r := runIn(task.StateLaunching)
		r.SandboxARN = ""
		change(&r)
		return r
	}
	for name, c := range map[string]struct {
		run  task.Run
		want task.Look
	}{
		"waiting":                           {runIn(task.StatePending), task.LookNone},
		"launched, answer unknown":          {launching(func(*task.Run) {}), task.LookCall},
		"a call in flight":                  {launching(func(r *task.Run) { r.CallingUntil = new(at.Add(time.Second)) }), task.LookNone},
		"a call whose caller died":          {launching(func(r *task.Run) { r.CallingUntil = new(at) }), task.LookCall},
		"too late to call":                  {launching(func(r *task.Run) { r.TokenUntil = new(at.Add(time.Minute)) }), task.LookList},
		"launched and known":                {runIn(task.StateLaunching), task.LookDescribe},
		"running":                           {runIn(task.StateRunning), task.LookDescribe},
		"claimed before the answer arrived": {func() task.Run { r := runIn(task.StateRunning); r.SandboxARN = ""; return r }(), task.LookList},
		"settled, still runs":               {runIn(task.StateCompleted), task.LookDescribe},
		"settled and stopped":               {func() task.Run { r := runIn(task.StateError); r.StoppedAt = new(at); return r }(), task.LookNone},
		"stopped a moment ago":              {func() task.Run { r := runIn(task.StateRunning); r.StoppedAt = new(at); return r }(), task.LookNone},
	} {
		if step := task.Next(c.run, time.Minute, at); step.Look != c.want || step.End != nil {
			t.Errorf("%s: %+v", name, step)
		}
	}
}

func TestWhatIsStopped(t *testing.T) {
	t.Parallel()
	claimed := func(s task.State, since time.Duration) task.Run {
		r := runIn(s)
		if r.CancelAt != nil {
			r.CancelAt = new(at.Add(-since))
		}
		if r.EndedAt != nil {
			r.EndedAt = new(at.Add(-since))
		}
		return r
	}
	unclaimed := claimed(task.StateCancelling, 0)
	unclaimed.ClaimedBy = ""
	expired := runIn(task.StateLaunching)
	expired.TokenUntil = new(at)
	for name, c := range map[string]struct {
		run  task.Run
		want bool
	}{
		"launching":                   {runIn(task.StateLaunching), false},
		"launching with a dead token": {expired, true},
		"running":                     {runIn(task.StateRunning), false},
		"cancelling, in its grace":    {claimed(task.StateCancelling, 19*time.Second), false},
		"cancelling, grace over":      {claimed(task.StateCancelling, 20*time.Second), true},
		"cancelling, never claimed":   {unclaimed, true},
		"settled, in its grace":       {claimed(task.StateCompleted, time.Second), false},
		"settled, grace over":         {claimed(task.StateError, time.Minute), true},
	} {
		_, stop := task.Observe(c.run, 1, []task.Seen{{Handle: "box", Alive: true}}, "s", at)
		if (len(stop) == 1) != c.want {
			t.Errorf("%s: stop %v", name, stop)
		}
	}
	if _, stop := task.Observe(runIn(task.StateRunning), 0, []task.Seen{{Handle: "old", Alive: true}}, "s", at); !slices.Equal(stop, []string{"old"}) {
		t.Errorf("a sandbox of an earlier launch: %v", stop)
	}
	if _, stop := task.Called(runIn(task.StateLaunching), 1, "another box", at); !stop {
		t.Error("a second sandbox of a launch is wanted")
	}
}

func TestAnEmptyListProvesNothingWhileSomethingMayArrive(t *testing.T) {
	t.Parallel()
	for _, state := range []task.State{task.StateLaunching, task.StateRunning, task.StateCancelling, task.StateError} {
		for since, believed := range map[time.Duration]bool{-time.Minute: false, 0: false, 59 * time.Second: false, time.Minute: true} {
			r := runIn(state)
			r.SandboxARN, r.TokenUntil = "", new(at.Add(-since))
			after, _ := task.Observe(r, 1, nil, "s", at)
			if stopped := after.StoppedAt != nil || after.Launch == 2; stopped != believed {
				t.Errorf("%s, %s after its token: stopped %v", state, since, stopped)
			}
			if state == task.StateLaunching && believed && (after.Launch != 2 || after.State != task.StateLaunching || !after.HoldsSlot()) {
				t.Errorf("launching goes on with launch %d in %s", after.Launch, after.State)
			}
		}
	}
}

func TestAMissingSandboxIsBelievedAMinuteAfterItsLaunch(t *testing.T) {
	t.Parallel()
	for since, believed := range map[time.Duration]bool{0: false, 59 * time.Second: false, time.Minute: true} {
		r := runIn(task.StateRunning)
		r.TokenUntil = new(at.Add(task.TokenLife - since))
		after, _ := task.Observe(r, 1, []task.Seen{{Handle: "box", Missing: true}}, "s", at)
		if (after.StoppedAt != nil) != believed {
			t.Errorf("%s after the launch: stopped at %v", since, after.StoppedAt)
		}
	}
}

func TestTheNextLookIsNeverPastTheNextDeadline(t *testing.T) {
	t.Parallel()
	for _, state := range task.States() {
		for _, near := range []time.Duration{2 * time.Second, time.Hour} {
			r := runIn(state)
			deadline := at.Add(near)
			r.StartUntil = deadline
			if r.RunUntil != nil {
				r.RunUntil = &deadline
			}
			due := task.NextDue(&r, at)
			most := 2 * time.Minute
			if state == task.StateRunning {
				most = 15 * time.Minute
			}
			if !due.After(at) || due.After(at.Add(most)) {
				t.Errorf("%s is looked at again after %s", state, due.Sub(at))
			}
			if (state == task.StatePending || state == task.StateLaunching || state == task.StateRunning) && due.After(deadline) {
				t.Errorf("%s is looked at %s after its deadline", state, due.Sub(deadline))
			}
		}
	}
	stopped := runIn(task.StateRunning)
	stopped.StoppedAt = new(at.Add(-50 * time.Second))
	if due := task.NextDue(&stopped, at); due.Sub(at) != 10*time.Second {
		t.Errorf("a stopped run is looked at after %s", due.Sub(at))
	}
	hanging := runIn(task.StateCancelling)
	hanging.CancelAt = new(at.Add(-time.Hour))
	if due := task.NextDue(&hanging, at); due.Sub(at) != time.Minute {
		t.Errorf("a hanging run is looked at after %s", due.Sub(at))
	}
}

func TestSlots(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		taken []int
		most  int
		want  int
	}{{nil, 2, 1}, {[]int{1}, 2, 2}, {[]int{2}, 2, 1}, {[]int{1, 2}, 2, 0}, {[]int{1, 3}, 3, 2}, {nil, 0, 0}, {[]int{1, 2, 9}, 2, 0}} {
		if slot, ok := task.FreeSlot(c.taken, c.most); ok != (c.want > 0) || ok && slot != c.want {
			t.Errorf("taken %v of %d: %d, %v", c.taken, c.most, slot, ok)
		}
	}
}

func TestTokens(t *testing.T) {
	t.Parallel()
	secret := strings.Repeat("aB3-_", 8) + "xyz"
	id := task.RunID("task", 1)
	for _, kind := range []task.TokenKind{task.TokenLaunch, task.TokenSession} {
		text := task.MakeToken(kind, id, 12, secret)
		got, ok := task.ParseToken(text)
		if !ok || got != (task.Token{Kind: kind, RunID: id, Launch: 12, Hash: task.HashToken(text)}) {
			t.Errorf("%s: %+v, %v", text, got, ok)
		}
	}
	for _, text := range []string{
		"", "....", "cl2." + id + ".1." + secret, "cl1." + id + ".0." + secret, "cl1." + id + ".01." + secret, "cl1." + id + ".-1." + secret,
		"cl1." + id + ".1." + secret[1:], "cl1." + id + ".1." + secret[:42] + "=", "cl1.x.1." + secret, "cl1." + strings.ToUpper(id) + ".1." + secret,
		"cl1.{" + id + "}.1." + secret, "cl1." + id + ".1." + secret + ".x", "cl1." + id + ".99999999999999999999." + secret,
	} {
		if _, ok := task.ParseToken(text); ok {
			t.Errorf("%q is taken for a token", text)
		}
	}
}

func TestArtifactsOfARun(t *testing.T) {
	t.Parallel()
	r := runIn(task.StateRunning)
	for i := range 40 {
		name := strings.Repeat("0", i)
		r = r.WithArtifact(task.Artifact{Kind: task.ArtifactPatch, SHA256: name, Key: r.ArtifactKey(task.ArtifactPatch, name)})
	}
	r = r.WithArtifact(task.Artifact{Kind: task.ArtifactResult, SHA256: "x", Key: r.ArtifactKey(task.ArtifactResult, "x")})
	if len(r.Artifacts) != 17 || r.Artifact(task.ArtifactPatch).SHA256 != strings.Repeat("0", 39) || r.Artifact(task.ArtifactLog) != nil {
		t.Errorf("%d artifacts", len(r.Artifacts))
	}
	again := r.Artifacts[3]
	again.Files = 5
	if r = r.WithArtifact(again); len(r.Artifacts) != 17 || r.Artifact(task.ArtifactPatch).Files != 5 {
		t.Error("the named one is not the newest")
	}
	if _, ok := r.Announced(task.ArtifactResult, "x"); !ok {
		t.Error("the result was announced")
	}
	if r.Launch = 2; r.Artifact(task.ArtifactResult) == nil {
		t.Error("the evidence of the earlier launch is gone")
	}
	if _, ok := r.Announced(task.ArtifactResult, "x"); ok {
		t.Error("it was announced by an earlier launch")
	}
}
