package app_test

import (
	"testing"
	"time"

	"companyos/shared/app/apptest"
	"companyos/shared/task"
)

// woken are the messages that name a Routine, by how long from now they come.
func (a *auto) woken(id string) (delays []time.Duration) {
	for _, m := range a.Work.All() {
		a.Work.Delete(m)
		if m.RunID == id {
			delays = append(delays, m.At.Sub(a.Bench.Clock.Now()).Round(time.Minute))
		}
	}
	return delays
}

// TestRoutineBetweenSweeps: a Routine of several times an hour is woken for each of them, but for that of a sweep.
func TestRoutineBetweenSweeps(t *testing.T) {
	t.Parallel()
	a := newAuto(t)
	day := time.Now().UTC().Truncate(24 * time.Hour).Add(24 * time.Hour)
	now := day.Add(2 * time.Minute)
	a.Config.Clock = func() time.Time { return now }
	r := a.scheduled("*/20 * * * *")
	step := func(at time.Duration, runs int, want ...time.Duration) {
		t.Helper()
		now = day.Add(at)
		if !a.Handle(a.Work, r.ID) {
			t.Error("the message was not handled")
		}
		if got := a.runs(r); len(got) != runs {
			t.Errorf("at %s: %d runs, want %d", at, len(got), runs)
		}
		if got := a.woken(r.ID); len(got) != len(want) || (len(want) > 0 && got[0] != want[0]) {
			t.Errorf("at %s: woken in %s, want %s", at, got, want)
		}
	}
	if got := a.woken(r.ID); len(got) != 1 || got[0] != 18*time.Minute {
		t.Fatalf("woken in %s", got)
	}
	step(17*time.Minute, 0, 3*time.Minute) // early
	step(20*time.Minute, 1, 20*time.Minute)
	step(20*time.Minute, 1, 20*time.Minute) // twice
	step(40*time.Minute, 2)                 // the sweep of the full hour is next
	step(60*time.Minute, 3, 20*time.Minute)
	_, err := a.PauseRoutine(a.ctx(), r.ID)
	a.must(err)
	step(80*time.Minute, 3)
	now = day.Add(81 * time.Minute)
	_, err = a.ResumeRoutine(a.ctx(), apptest.Alice(), r.ID)
	a.must(err)
	if got := a.woken(r.ID); len(got) != 1 || got[0] != 19*time.Minute {
		t.Errorf("after a pause: woken in %s", got)
	}
}

// TestSweepWakesRoutines: what was lost is sent again; a Routine of another hour is left alone.
func TestSweepWakesRoutines(t *testing.T) {
	t.Parallel()
	a := newAuto(t)
	if time.Until(time.Now().Truncate(time.Hour).Add(time.Hour)) < time.Minute {
		a.offset = 2 * time.Minute // the hour that is ending
	}
	soon, later := a.scheduled("*/5 * * * *"), a.newRoutine("later", nil)
	a.exec("UPDATE routines SET next_run_at = clock_timestamp() + interval '30 seconds' WHERE id = $1", soon.ID)
	a.exec("UPDATE routines SET cron_expr = '0 0 * * *', next_run_at = clock_timestamp() + interval '70 minutes' WHERE id = $1", later.ID)
	a.Work.Clear()
	a.must(a.WakeRoutines(a.ctx()))
	if a.Work.Len() != 1 || len(a.woken(soon.ID)) != 1 {
		t.Errorf("%d messages", a.Work.Len())
	}
	a.Work.Plan = func(string) apptest.Fault { return apptest.FaultBefore }
	if err := a.WakeRoutines(a.ctx()); task.KindOf(err) != task.KindUnavailable {
		t.Errorf("a queue that is away: %v", err)
	}
}
