package routine_test

import (
	"strings"
	"testing"
	"time"

	"companyos/shared/company"
	"companyos/shared/routine"
	"companyos/shared/task"
)

func TestFiring(t *testing.T) {
	t.Parallel()
	run := routine.Run{ID: "sr_1", RoutineID: "r", RunID: "run", SessionID: "session", StartUntil: noon.Add(time.Hour), TriggeredAt: noon}
	r, first := routine.Fired(routine.Routine{ID: "r"}, run, "", noon)
	if first.Status != routine.StatusRunning || *r.LiveRunID != "sr_1" || r.LastRun.Status != routine.StatusRunning || r.LastRun.RunID != "run" {
		t.Fatalf("%+v %+v", r, first)
	}
	// Its time comes again while it runs: recorded, nothing started, and the running one stays the latest.
	run.ID = "sr_2"
	again, skipped := routine.Fired(r, run, "", noon)
	if skipped.Status != routine.StatusSkipped || *skipped.Error != routine.ErrorActive || skipped.RunID != "" || again.LastRun.ID != "sr_1" || *again.LiveRunID != "sr_1" {
		t.Fatalf("%+v %+v", again, skipped)
	}
	// What cannot run is told, whether or not the one before has ended.
	run.ID = "sr_3"
	again, failed := routine.Fired(r, run, routine.ErrorProductArchived, noon)
	if failed.Status != routine.StatusFailed || *failed.Error != routine.ErrorProductArchived || again.LastRun.ID != "sr_3" || *again.LiveRunID != "sr_1" {
		t.Fatalf("%+v %+v", again, failed)
	}

	claimed, ok := first.Begun("worker", time.Minute, noon)
	if !ok || claimed.ClaimedBy != "worker" {
		t.Fatalf("%+v", claimed)
	}
	if _, ok := claimed.Begun("other", time.Minute, noon); ok {
		t.Error("two workers hold one run")
	}
	if _, ok := claimed.Begun("worker", time.Minute, noon); !ok {
		t.Error("the same worker cannot ask again")
	}
	if _, ok := first.Begun("late", time.Minute, noon.Add(time.Hour)); ok {
		t.Error("begun after its start limit")
	}
	if _, _, ok := routine.Ended(r, claimed, "other", routine.StatusSuccess, "", nil, noon); ok {
		t.Error("another worker ended it")
	}
	done, ended, ok := routine.Ended(r, claimed, "worker", routine.StatusSuccess, "", []byte(`{"content":"x"}`), noon)
	if !ok || done.LiveRunID != nil || done.LastRun.Status != routine.StatusSuccess || ended.LeaseUntil != nil || ended.CompletedAt == nil {
		t.Fatalf("%+v %+v", done, ended)
	}
	if _, _, ok := routine.Ended(done, ended, "worker", routine.StatusFailed, "x", nil, noon); ok {
		t.Error("ended twice")
	}
}

func TestOverdue(t *testing.T) {
	t.Parallel()
	run := routine.Run{Status: routine.StatusRunning, StartUntil: noon}
	if got := run.Overdue(noon.Add(-time.Second)); got != "" {
		t.Errorf("early: %q", got)
	}
	if got := run.Overdue(noon); got != routine.ErrorNeverStarted {
		t.Errorf("unclaimed: %q", got)
	}
	run.LeaseUntil = ptr(noon.Add(time.Minute))
	if got := run.Overdue(noon.Add(59 * time.Second)); got != "" {
		t.Errorf("within its lease: %q", got)
	}
	if got := run.Overdue(noon.Add(time.Minute)); got != routine.ErrorLost {
		t.Errorf("after its lease: %q", got)
	}
	run.Status = routine.StatusFailed
	if got := run.Overdue(noon.Add(time.Hour)); got != "" {
		t.Errorf("ended: %q", got)
	}
}

func TestCheckName(t *testing.T) {
	t.Parallel()
	id := "7802461b-843e-44d6-a501-979f58a8616e"
	for name, want := range map[string]string{
		id + ".a b_c-d.e":                   "",
		id + ".bad/name":                    "1 validation error for ScheduleCreate\nname\n  Value error, Name must start with alphanumeric and contain only alphanumeric, spaces, '.', '_', '-' [type=value_error, input_value='" + id + ".bad/name', input_type=str]\n    For further information visit https://errors.pydantic.dev/2.14/v/value_error",
		id + "." + strings.Repeat("n", 230): "1 validation error for ScheduleCreate\nname\n  String should have at most 255 characters [type=string_too_long, input_value='7802461b-843e-44d6-a501-...nnnnnnnnnnnnnnnnnnnnnnn', input_type=str]\n    For further information visit https://errors.pydantic.dev/2.14/v/string_too_long",
		id + "." + strings.Repeat("n", 218): "",
	} {
		if got := text(routine.CheckName("ScheduleCreate", name)); got != want {
			t.Errorf("%s:\n got %q\nwant %q", name, got, want)
		}
	}
}

func TestStreak(t *testing.T) {
	t.Parallel()
	f := routine.Failure{TaskID: "t", ProductID: "p", Reason: "a", TaskRevision: 3}
	s := routine.Count(nil, f, "1", noon)
	for range 11 {
		s = routine.Count(&s, f, "new", noon.Add(time.Hour))
	}
	if s.Count != 12 || s.ID != "1" || !s.TriggeredAt.Equal(noon) || !s.CompletedAt.Equal(noon.Add(time.Hour)) {
		t.Errorf("%+v", s)
	}
	for name, c := range map[string]func(s *routine.Streak, f *routine.Failure){
		"another reason":    func(_ *routine.Streak, f *routine.Failure) { f.Reason = "b" },
		"the Task changed":  func(_ *routine.Streak, f *routine.Failure) { f.TaskRevision++ },
		"a success between": func(s *routine.Streak, _ *routine.Failure) { s.Active = false },
	} {
		before, failure := s, f
		c(&before, &failure)
		if got := routine.Count(&before, failure, "2", noon); got.Count != 1 || got.ID != "2" || !got.Active {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestRetention(t *testing.T) {
	t.Parallel()
	if got := (routine.Retention{HistoryDays: 2}).HistoryCutoff(noon); !got.Equal(noon.Add(-48 * time.Hour)) {
		t.Error(got)
	}
	if got := (routine.Retention{}).ArtifactCutoff(noon); !got.Equal(noon.Add(-30 * 24 * time.Hour)) {
		t.Error(got)
	}
	if got := routine.ArchiveCutoff(noon.Add(900*time.Millisecond), 0); !got.Equal(noon) {
		t.Error(got)
	}
	p := &company.Project{ID: "j", Name: "Launch"}
	page := routine.CompletionPage(p, []task.Task{{ID: "t1", Status: task.StatusDone}})
	for _, c := range []struct {
		path, content string
		want          bool
	}{
		{routine.CompletionPath("j"), page, true},
		{routine.CompletionPath("j"), "mine now\n" + page, false},
		{routine.SummaryPath, "x\n" + routine.SummaryMarker, true},
		{routine.SummaryPath, "written by a person", false},
		{"brief.md", routine.SummaryMarker, false},
		{"status.md", page, false},
		{"notes/a.md", page, false},
	} {
		if got := routine.Generated(c.path, c.content); got != c.want {
			t.Errorf("%s %.20q: %v", c.path, c.content, got)
		}
	}
	if !strings.Contains(page, "# Complete Launch\n") || !strings.HasSuffix(page, "Project: j\n\n- t1: done\n") {
		t.Error(page)
	}
}

func TestTemplates(t *testing.T) {
	t.Parallel()
	for _, name := range []routine.Template{routine.TemplateRefresh, routine.TemplateIntake, routine.TemplateSummary} {
		if name.Instructions() == "" {
			t.Errorf("%s has no instructions", name)
		}
	}
	if routine.Template("x").Instructions() != "" {
		t.Error("an unknown template has instructions")
	}
}

func TestProposedProjectID(t *testing.T) {
	t.Parallel()
	// python3 -c 'import uuid; print(uuid.uuid5(uuid.NAMESPACE_URL, "company-project/p/r/Launch"))'
	if got := routine.ProposedProjectID("p", "r", "Launch"); got != "c3bbe39d-d423-5a04-80d8-3fa6de3503fa" {
		t.Errorf("got %s, want %s", got, "c3bbe39d-d423-5a04-80d8-3fa6de3503fa")
	}
}
