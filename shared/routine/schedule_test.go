package routine_test

import (
	"testing"
	"time"

	"companyos/shared/routine"
)

// occurrences returns the next n wall times of a schedule, with their offset.
func occurrences(t *testing.T, line, zone, from string, n int) []string {
	t.Helper()
	s, err := routine.ParseSchedule(line, zone)
	if err != nil {
		t.Fatal(err)
	}
	loc, err := routine.ParseZone(zone)
	if err != nil {
		t.Fatal(err)
	}
	at, err := time.Parse(time.RFC3339, from)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for range n {
		next := s.Next(at)
		if next == nil {
			return append(out, "never")
		}
		if !next.After(at) {
			t.Fatalf("%s: %s does not move on from %s", line, next, at)
		}
		at = *next
		out = append(out, at.In(loc).Format("Mon 2006-01-02T15:04-07:00"))
	}
	return out
}

func TestNext(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, line, zone, from string
		want                   []string
	}{
		{"a weekday is the zone's", "10 4 * * 1-5", "Asia/Singapore", "2026-02-06T12:00:00Z", []string{"Mon 2026-02-09T04:10+08:00", "Tue 2026-02-10T04:10+08:00"}},
		{"a Sunday in UTC is Monday there", "10 4 * * 1-5", "Asia/Singapore", "2026-02-08T20:09:59Z", []string{"Mon 2026-02-09T04:10+08:00"}},
		{"the time that spring leaves out", "30 2 * * *", "America/New_York", "2026-03-07T12:00:00Z", []string{"Sun 2026-03-08T03:00-04:00", "Mon 2026-03-09T02:30-04:00"}},
		{"the end of the gap once", "*/10 2 * * *", "America/New_York", "2026-03-08T06:00:00Z", []string{"Sun 2026-03-08T03:00-04:00", "Mon 2026-03-09T02:00-04:00"}},
		{"the time that autumn has twice", "30 1 * * *", "America/New_York", "2026-10-31T12:00:00Z", []string{"Sun 2026-11-01T01:30-04:00", "Mon 2026-11-02T01:30-05:00"}},
		{"asked inside the second hour", "30 1 * * *", "America/New_York", "2026-11-01T06:10:00Z", []string{"Mon 2026-11-02T01:30-05:00"}},
		{"a day without midnight", "0 0 4 11 *", "America/Sao_Paulo", "2018-11-03T12:00:00Z", []string{"Sun 2018-11-04T01:00-02:00", "Mon 2019-11-04T00:00-03:00"}},
		{"the hour after a missing midnight", "0 1 4 11 *", "America/Sao_Paulo", "2018-11-03T12:00:00Z", []string{"Sun 2018-11-04T01:00-02:00"}},
		{"every quarter goes by elapsed time in autumn", "*/30 * * * *", "America/New_York", "2026-11-01T05:10:00Z", []string{
			"Sun 2026-11-01T01:30-04:00", "Sun 2026-11-01T01:00-05:00", "Sun 2026-11-01T01:30-05:00", "Sun 2026-11-01T02:00-05:00",
		}},
		{"and in spring", "*/30 * * * *", "America/New_York", "2026-03-08T06:10:00Z", []string{
			"Sun 2026-03-08T01:30-05:00", "Sun 2026-03-08T03:00-04:00", "Sun 2026-03-08T03:30-04:00",
		}},
		{"half an hour's change", "15 2 * * *", "Australia/Lord_Howe", "2026-10-03T02:00:00Z", []string{"Sun 2026-10-04T02:30+11:00", "Mon 2026-10-05T02:15+11:00"}},
		{"day of month or day of week", "0 9 13 * 5", "UTC", "2026-02-10T00:00:00Z", []string{"Fri 2026-02-13T09:00+00:00", "Fri 2026-02-20T09:00+00:00"}},
		{"29 February", "0 0 29 2 *", "UTC", "2026-01-01T00:00:00Z", []string{"Tue 2028-02-29T00:00+00:00"}},
		{"a day that no month has", "0 0 30 2 *", "UTC", "2026-01-01T00:00:00Z", []string{"never"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := occurrences(t, c.line, c.zone, c.from, len(c.want))
			for i := range c.want {
				if got[i] != c.want[i] {
					t.Errorf("%d: got %s, want %s", i, got[i], c.want[i])
				}
			}
		})
	}
}

// TestOncePerDay walks two years of every hour of the day in zones with odd changes.
func TestOncePerDay(t *testing.T) {
	t.Parallel()
	for _, zone := range []string{"America/New_York", "Europe/Paris", "America/Sao_Paulo", "Australia/Lord_Howe", "Africa/Cairo", "Asia/Beirut"} {
		loc, err := routine.ParseZone(zone)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range []string{"0 0 * * *", "30 0 * * *", "30 1 * * *", "15 2 * * *", "59 23 * * *"} {
			s, err := routine.ParseSchedule(line, zone)
			if err != nil {
				t.Fatal(err)
			}
			at := time.Date(2017, 6, 1, 23, 59, 30, 0, loc)
			day := at
			for range 730 {
				next := s.Next(at)
				day = day.AddDate(0, 0, 1)
				if got := next.In(loc).Format(time.DateOnly); got != day.Format(time.DateOnly) {
					t.Fatalf("%s %s: after %s comes %s", zone, line, at, got)
				}
				at = *next
			}
		}
	}
}

func TestScheduleRefusals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ line, zone, want string }{
		{"", "UTC", "Invalid cron expression"},
		{"x", "UTC", "Invalid cron expression: x"},
		{"every day", "UTC", "Invalid cron expression: every day"},
		{"0 0 0 * * *", "UTC", "Invalid cron expression: 0 0 0 * * *"},
		{"@daily", "UTC", "Invalid cron expression: @daily"},
		{"TZ=UTC 0 0 * *", "UTC", "Invalid cron expression: TZ=UTC 0 0 * *"},
		{"60 * * * *", "UTC", "Invalid cron expression: 60 * * * *"},
		{"0 0 * * *", "Mars/X", "Invalid timezone: Mars/X"},
		{"0 0 * * *", "", "Invalid timezone: "},
		{"0 0 * * *", "Local", "Invalid timezone: Local"},
	} {
		if _, err := routine.ParseSchedule(c.line, c.zone); err == nil || err.Error() != c.want {
			t.Errorf("%q in %q: %v, want %s", c.line, c.zone, err, c.want)
		}
	}
}

// TestCatchUp: six hours of a quarter-hourly Routine that nobody looked at are one firing, and the next is ahead.
func TestCatchUp(t *testing.T) {
	t.Parallel()
	line := "*/15 * * * *"
	now := time.Date(2026, 5, 1, 12, 7, 0, 0, time.UTC)
	missed := now.Add(-6 * time.Hour)
	r := routine.Routine{CronExpr: &line, Timezone: "UTC", NextRunAt: &missed}
	r, err := r.Scheduled(now)
	if err != nil || !r.NextRunAt.Equal(time.Date(2026, 5, 1, 12, 15, 0, 0, time.UTC)) {
		t.Errorf("%v, %v", r.NextRunAt, err)
	}
	r.CronExpr = nil
	if r, err = r.Scheduled(now); err != nil || r.NextRunAt != nil {
		t.Errorf("a Routine on demand has a time: %v, %v", r.NextRunAt, err)
	}
}
