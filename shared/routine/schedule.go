package routine

import (
	"strings"
	"time"
	_ "time/tzdata" // a function's image has no time zones

	"github.com/robfig/cron/v3"

	"companyos/shared/task"
)

// Schedule is a cron line in a time zone.
type Schedule struct {
	line   *cron.SpecSchedule
	zone   *time.Location
	hourly bool // fires by elapsed time: every hour is one of its hours
}

// ParseSchedule reads five fields and the name of a time zone. KindInvalid with the contract's text.
func ParseSchedule(line, zone string) (Schedule, error) {
	fields := strings.Fields(line)
	if len(fields) != 5 || strings.Contains(line, "=") {
		return Schedule{}, invalidCron(line)
	}
	parsed, err := cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow).Parse(line)
	spec, ok := parsed.(*cron.SpecSchedule)
	if err != nil || !ok {
		return Schedule{}, invalidCron(line)
	}
	loc, err := ParseZone(zone)
	if err != nil {
		return Schedule{}, err
	}
	spec.Location = time.UTC // Next works on wall time, which it is given as UTC
	return Schedule{line: spec, zone: loc, hourly: fields[1] == "*"}, nil
}

func invalidCron(line string) error {
	text := "Invalid cron expression"
	if line != "" {
		text += ": " + line
	}
	return task.Invalidf("cron_invalid", "Send five fields: minute, hour, day of month, month, day of week.", "%s", text)
}

// ParseZone knows the time zones of the IANA database. Go's own names for UTC and for this machine are none.
func ParseZone(name string) (*time.Location, error) {
	if name != "" && name != "Local" {
		if loc, err := time.LoadLocation(name); err == nil {
			return loc, nil
		}
	}
	return nil, task.Invalidf("timezone_invalid", "Send a name of the IANA time zone database, such as Europe/Paris.", "Invalid timezone: %s", name)
}

// maxSteps bounds the search for an occurrence behind those that a change of the clocks took away.
const maxSteps = 200

// Next is the first occurrence after a moment, nil when there is none in the next years.
//
// The line is matched on wall time, so that a weekday is the zone's own. A wall time that a change of the clocks leaves
// out fires at the first instant after the gap, one that happens twice fires at its first. So a daily line fires once on
// every day. A line of every hour goes by elapsed time instead: it neither pauses nor hurries when the clocks change.
func (s Schedule) Next(after time.Time) *time.Time {
	if s.hourly {
		return s.nextElapsed(after)
	}
	naive := wall(after.In(s.zone))
	for range maxSteps {
		naive = s.line.Next(naive)
		if naive.IsZero() {
			return nil
		}
		if at := instant(naive, s.zone); at.After(after) {
			return &at
		}
	}
	return nil
}

// nextElapsed walks with the offset of now, and again with the next one where the clocks change before.
func (s Schedule) nextElapsed(after time.Time) *time.Time {
	from := after.In(s.zone)
	for range maxSteps {
		_, offset := from.Zone()
		next := s.line.Next(wall(from))
		if next.IsZero() {
			return nil
		}
		at := next.Add(-time.Duration(offset) * time.Second)
		_, changes := from.ZoneBounds()
		if changes.IsZero() || at.Before(changes) {
			at = at.In(time.UTC)
			return &at
		}
		if first := wall(changes); s.line.Next(first.Add(-time.Second)).Equal(first) {
			changes = changes.In(time.UTC)
			return &changes
		}
		from = changes
	}
	return nil
}

// wall is what the clock on the wall shows, as if it were UTC's.
func wall(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
}

// instant is the first moment at which a zone's clock shows the time, or the end of the gap that the time is in.
func instant(naive time.Time, zone *time.Location) time.Time {
	with := func(near time.Time) time.Time {
		_, offset := near.In(zone).Zone()
		return naive.Add(-time.Duration(offset) * time.Second)
	}
	before, later := with(naive.Add(-24*time.Hour)), with(naive.Add(24*time.Hour))
	first, second := before, later
	if later.Before(before) {
		first, second = later, before
	}
	for _, t := range []time.Time{first, second} {
		if wall(t.In(zone)).Equal(naive) {
			return t.In(time.UTC)
		}
	}
	end, _ := before.In(zone).ZoneBounds()
	return end.In(time.UTC)
}

// schedule is nil for a Routine on demand.
func (r *Routine) schedule() (*Schedule, error) {
	if r.CronExpr == nil {
		return nil, nil
	}
	s, err := ParseSchedule(*r.CronExpr, r.Timezone)
	return &s, err
}

// Scheduled returns the Routine with its next occurrence after a moment: whatever was missed before counts once, by
// firing now, or not at all. KindInvalid for a cron line or a time zone that does not exist.
func (r Routine) Scheduled(after time.Time) (Routine, error) {
	s, err := r.schedule()
	if err != nil {
		return r, err
	}
	r.NextRunAt = nil
	if s != nil {
		r.NextRunAt = s.Next(after)
	}
	return r, nil
}
