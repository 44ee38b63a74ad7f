package app_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"companyos/shared/app"
	"companyos/shared/app/apptest"
	"companyos/shared/company"
	"companyos/shared/routine"
	"companyos/shared/store"
	"companyos/shared/task"
)

// finished adds a Task that went through one attempt and was approved.
func (a *auto) finished(title string) task.Task {
	a.T.Helper()
	tk := a.NewTask(task.ExecutorWorkflow, apptest.Notes)
	a.Start(tk.ID, 1)
	a.Drain()
	_, err := a.MoveTask(a.ctx(), tk.ID, task.Move{Target: task.StatusDone, Reason: title, By: apptest.Alice()})
	a.must(err)
	return a.TaskNow(tk.ID)
}

func (a *auto) window(days int) {
	a.T.Helper()
	_, err := a.EditProduct(a.ctx(), a.ProductID, app.ProductEdit{Metadata: set(map[string]json.RawMessage{
		company.MetadataArchiveWindow: json.RawMessage(fmt.Sprint(days)),
	})})
	a.must(err)
}

func TestRefresh(t *testing.T) {
	t.Parallel()
	a := newAuto(t)
	a.activate()
	a.window(1)
	old, fresh := a.finished("old"), a.finished("fresh")
	waiting := a.NewTask(task.ExecutorWorkflow, apptest.Notes)
	a.exec("UPDATE tasks SET updated_at = updated_at - interval '2 days' WHERE id IN ($1, $2)", old.ID, waiting.ID)
	got, err := a.Refresh(a.ctx(), a.ProductID)
	a.must(err)
	if got.ArchiveWindowDays != 1 || len(got.ArchivedTasks) != 1 || got.ArchivedTasks[0] != old.ID || len(got.ArchivedProjects) != 0 || len(got.CompletionProposals) != 0 {
		t.Errorf("%+v", got)
	}
	// All work of the Project is finished: it is proposed to complete it, and done by nobody.
	_, err = a.MoveTask(a.ctx(), waiting.ID, task.Move{Target: task.StatusCancelled, Reason: "no", By: apptest.Alice()})
	a.must(err)
	got, err = a.Refresh(a.ctx(), a.ProductID)
	a.must(err)
	path := routine.CompletionPath(a.ProjectID)
	if len(got.CompletionProposals) != 1 || got.CompletionProposals[0].Path != path || got.CompletionProposals[0].ProjectID != a.ProjectID {
		t.Errorf("%+v", got)
	}
	page, err := a.WikiPage(a.ctx(), a.ProductID, path, 0)
	if err != nil || !strings.Contains(page.Content, fresh.ID+": done") || strings.Contains(page.Content, old.ID) {
		t.Errorf("%v %s", err, page.Content)
	}
	again, err := a.Refresh(a.ctx(), a.ProductID)
	a.must(err)
	if same, err := a.WikiPage(a.ctx(), a.ProductID, path, 0); err != nil || same.Version != 1 || len(again.DeletedPages) != 0 {
		t.Errorf("written again: version %d, %+v, %v", same.Version, again, err)
	}
	// New work: the proposal goes.
	if _, err := a.CreateTask(a.ctx(), apptest.Alice(), app.TaskInput{ProductID: a.ProductID, ProjectID: a.ProjectID, Title: "more"}); err != nil {
		t.Fatal(err)
	}
	got, err = a.Refresh(a.ctx(), a.ProductID)
	if err != nil || len(got.DeletedPages) != 1 || got.DeletedPages[0] != path {
		t.Errorf("%+v %v", got, err)
	}
	if p, err := a.Project(a.ctx(), a.ProjectID, false); err != nil || p.Status != company.ProjectActive {
		t.Errorf("%v %v", p.Status, err)
	}
	a.must(a.ArchiveProduct(a.ctx(), a.ProductID))
	if _, err := a.Refresh(a.ctx(), a.ProductID); errText(err) != "Product not found" {
		t.Error(err)
	}
	a.Check()
}

// TestRefreshWindowZero archives a Project and what is in it from the next second on, and rewrites a page it deletes.
func TestRefreshWindowZero(t *testing.T) {
	t.Parallel()
	a := newAuto(t)
	a.activate()
	a.window(0)
	a.finished("x")
	_, err := a.MoveProject(a.ctx(), apptest.Alice(), a.ProjectID, company.ProjectDone, "done")
	a.must(err)
	a.mu.Lock()
	a.offset = 2 * time.Second
	a.mu.Unlock()
	got, err := a.Refresh(a.ctx(), a.ProductID)
	if err != nil || len(got.ArchivedProjects) != 1 || len(got.ArchivedTasks) != 0 {
		t.Errorf("%+v %v", got, err)
	}
	if list, err := a.Tasks(a.ctx(), store.Page{Limit: 10, Number: 1}, store.TaskFilter{ProductID: a.ProductID}); err != nil || list.Total != 0 {
		t.Errorf("%d Tasks are left, %v", list.Total, err)
	}
	a.Check()
}

// TestCompletion: a Routine that may completes what was proposed, once, and only while the page says what is so.
func TestCompletion(t *testing.T) {
	t.Parallel()
	a := newAuto(t)
	a.activate()
	template := routine.TemplateRefresh
	p := a.policy(1)
	p.CompleteProjects = true
	r, err := a.CreateRoutine(a.ctx(), apptest.Alice(), app.RoutineInput{
		ProductID: a.ProductID, Name: "refresh", Template: &template, ExecutorType: task.ExecutorWorkflow, ExecutorID: apptest.Notes, Policy: p,
	})
	a.must(err)
	done := a.finished("x")
	if got := a.tick(); len(got.Projects) != 0 {
		t.Errorf("without a proposal: %+v", got)
	}
	_, err = a.Refresh(a.ctx(), a.ProductID)
	a.must(err)
	a.must(a.ArchiveTask(a.ctx(), done.ID))
	if got := a.tick(); len(got.Projects) != 0 {
		t.Errorf("with a proposal that is out of date: %+v", got)
	}
	_, err = a.Refresh(a.ctx(), a.ProductID)
	a.must(err)
	a.rights = app.Rights{Known: true, Scopes: []string{"schedules:write", "tasks:write", "wiki:read", "workflows:run"}}
	if got := a.tick(); len(got.Projects) != 1 || got.Projects[0].Reason != "Insufficient permissions. Required scope(s): schedules:write, tasks:write, wiki:read, projects:write" {
		t.Errorf("without the right: %+v", got)
	}
	a.rights = app.Rights{}
	got := a.tick()
	if len(got.Projects) != 1 || got.Projects[0].Status != app.OutcomeDone {
		t.Errorf("%+v", got)
	}
	project, err := a.Project(a.ctx(), a.ProjectID, false)
	a.must(err)
	last := project.Transitions[len(project.Transitions)-1]
	if project.Status != company.ProjectDone || last.Reason != routine.EntryCompleted || *last.UserID != "alice" || last.AutoAccept.RoutineID != r.ID {
		t.Errorf("%s %+v", project.Status, last)
	}
	if n := a.count("SELECT count(*) FROM automation_runs WHERE status = 'success'"); n != 1 {
		t.Errorf("%d lines of history", n)
	}
	a.Check()
}

// deleter removes blobs of the bench's store, and fails when a test says so.
type deleter struct {
	mu      sync.Mutex
	deleted map[string]bool
	fail    bool
}

func (d *deleter) Delete(_ context.Context, key string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fail {
		return errors.New("the store is away")
	}
	d.deleted[key] = true
	return nil
}

// TestCleanUp: what is old goes, in batches that may be cut anywhere; never anything of work that is going on.
func TestCleanUp(t *testing.T) {
	t.Parallel()
	a := newAuto(t)
	d := &deleter{deleted: map[string]bool{}}
	a.Config.Deleter = d
	a.Config.Retention = routine.Retention{HistoryDays: 30, ArtifactDays: 10}
	done := a.finished("x")
	review := a.NewTask(task.ExecutorWorkflow, apptest.Notes)
	a.Start(review.ID, 1)
	a.Drain()
	live := a.NewTask(task.ExecutorWorkflow, apptest.Notes)
	a.Start(live.ID, 1)
	returned := a.NewTask(task.ExecutorWorkflow, apptest.Notes)
	a.Start(returned.ID, 1)
	a.Drain()
	_, err := a.MoveTask(a.ctx(), returned.ID, task.Move{Target: task.StatusBacklog, Reason: "later", By: apptest.Alice()})
	a.must(err)
	young := a.finished("young")
	events := func(id string) int64 {
		return a.count("SELECT count(*) FROM run_events WHERE run_id = $1", task.RunID(id, 1))
	}
	total := map[string]int64{}
	for _, id := range []string{done.ID, review.ID, returned.ID, young.ID} {
		if total[id] = events(id); total[id] == 0 {
			t.Fatal("a run without events shows nothing")
		}
	}
	a.exec("UPDATE runs SET ended_at = ended_at - interval '11 days' WHERE task_id <> $1 AND ended_at IS NOT NULL", young.ID)
	a.exec("INSERT INTO automation_runs SELECT 'old' || n, 'success', now() - interval '31 days', now() - interval '31 days', NULL, '{}' FROM generate_series(1, 2500) n")
	a.exec("INSERT INTO automation_runs VALUES ('new', 'success', now(), now(), NULL, '{}')")
	dry, err := a.CleanUp(a.ctx(), true)
	if err != nil || dry.History != 2500 || dry.Runs != 2 || dry.Artifacts != 1 || dry.Events != total[done.ID]+total[returned.ID] {
		t.Errorf("%+v %v", dry, err)
	}
	if a.count("SELECT count(*) FROM automation_runs") != 2501 || events(done.ID) != total[done.ID] || len(d.deleted) != 0 {
		t.Fatal("the dry run removed something")
	}
	// Cut off after the references went: the blob is known as garbage, and goes the next time.
	d.fail = true
	if _, err := a.CleanUp(a.ctx(), false); task.KindOf(err) != task.KindUnavailable {
		t.Fatal(err)
	}
	if a.count("SELECT count(*) FROM blob_garbage") != 1 {
		t.Error("the blob was forgotten")
	}
	d.fail = false
	if _, err := a.CleanUp(a.ctx(), false); err != nil || len(d.deleted) != 1 || a.count("SELECT count(*) FROM blob_garbage") != 0 {
		t.Errorf("%v, deleted %v", err, d.deleted)
	}
	if a.count("SELECT count(*) FROM automation_runs") != 1 {
		t.Error("history is left")
	}
	for id, want := range map[string]int64{done.ID: 0, returned.ID: 0, review.ID: total[review.ID], young.ID: total[young.ID]} {
		if got := events(id); got != want {
			t.Errorf("%d events, want %d", got, want)
		}
	}
	if again, err := a.CleanUp(a.ctx(), false); err != nil || again.Events != 0 || again.Artifacts != 0 || again.History != 0 {
		t.Errorf("%+v %v", again, err)
	}
	// The returned Task goes on: what its next attempt needs is there.
	a.Accept(returned.ID, task.ExecutorWorkflow, apptest.Notes)
	a.Start(returned.ID, 2)
	a.Drain()
	if got := a.TaskNow(returned.ID); got.Status != task.StatusInReview {
		t.Errorf("%s", got.Status)
	}
	a.Check()
}

// mailbox is a Channel.
type mailbox struct {
	mu   sync.Mutex
	got  []app.Message
	fail bool
	hold func()
}

func (m *mailbox) Deliver(_ context.Context, msg app.Message) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.hold != nil {
		m.hold()
	}
	if m.fail {
		return errors.New("not today")
	}
	m.got = append(m.got, msg)
	return nil
}

func TestSummary(t *testing.T) {
	t.Parallel()
	a := newAuto(t)
	box := &mailbox{}
	a.Config.Channels = map[string]app.Channel{"webhook": box}
	expect := func(run, narrative, want string) app.Summarized {
		t.Helper()
		got, err := a.Summarize(a.ctx(), a.ProductID, run, narrative)
		if errText(err) != want && !strings.HasPrefix(errText(err), want+":") {
			t.Errorf("%q, want %q", errText(err), want)
		}
		return got
	}
	expect("1", "x", "Product summary requires an interface and destination")
	target := func(name string) {
		_, err := a.EditProduct(a.ctx(), a.ProductID, app.ProductEdit{Metadata: set(map[string]json.RawMessage{"summary": json.RawMessage(`{"interface": "` + name + `", "destination": "team"}`)})})
		a.must(err)
	}
	target("pigeon")
	expect("1", "x", "Summary interface is not configured on AgentOS")
	target("webhook")
	expect("1", " ", "Summary requires the executor's narrative")
	box.fail = true
	expect("1", "All is well.", "The summary could not be delivered")
	box.fail = false
	if got := expect("1", "All is well.", ""); !got.Delivered || got.Quiet || got.Path != "summary.md" {
		t.Errorf("%+v", got)
	}
	if got := expect("1", "All is well.", ""); !got.Delivered || !got.Quiet || len(box.got) != 1 {
		t.Errorf("%+v, %d messages", got, len(box.got))
	}
	a.NewTask(task.ExecutorWorkflow, apptest.Notes)
	expect("2", "More.", "")
	m := box.got[1]
	if m.ID != "2" || m.Destination != "team" || !strings.Contains(m.Text, "More.") || !strings.Contains(m.Text, "- ready: 1, was 0") {
		t.Errorf("%+v", m)
	}
	page, err := a.WikiPage(a.ctx(), a.ProductID, routine.SummaryPath, 0)
	if err != nil || page.Content != m.Text || page.Version != 2 || !routine.Generated(page.Path, page.Content) {
		t.Errorf("%v, version %d", err, page.Version)
	}
	// While one is under way, another is told to come again.
	box.hold = func() {
		box.hold = nil
		if _, err := a.Summarize(a.ctx(), a.ProductID, "4", "x"); errText(err) != "Another Summary delivery is in progress; retry after it finishes" {
			t.Error(err)
		}
	}
	expect("3", "x", "")
	if a.count("SELECT count(*) FROM claims") != 0 {
		t.Error("a claim is left")
	}
}
