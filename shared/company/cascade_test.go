package company

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"companyos/shared/task"
)

var t0 = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

func at(minutes int) time.Time { return t0.Add(time.Duration(minutes) * time.Minute) }

func archive(m int) Cascade { return Cascade{CascadeArchive, at(m)} }
func restore(m int) Cascade { return Cascade{CascadeRestore, at(m)} }

func entry(action, reason string, m int, by *task.Parent) task.Entry {
	return task.Entry{Action: action, From: "done", Target: "done", Reason: reason, CreatedAt: at(m).Unix(), ArchivedBy: by}
}

func TestApplyToTask(t *testing.T) {
	t.Parallel()
	project := &task.Parent{Type: "project", ID: "J"}
	one, three := at(1), at(3)
	for name, c := range map[string]struct {
		own      *time.Time
		parents  Parents
		entries  []task.Entry
		archived *time.Time
		updated  *time.Time
	}{
		"nothing happened": {},
		"the Project was archived": {
			parents: Parents{ProjectCascades: []Cascade{archive(1)}, ProjectArchivedAt: &one},
			entries: []task.Entry{entry("archive", "Parent archived", 1, project)}, archived: &one, updated: &one,
		},
		"and restored": {
			parents: Parents{ProjectCascades: []Cascade{archive(1), restore(3)}},
			entries: []task.Entry{entry("archive", "Parent archived", 1, project), entry("restore", "Restored", 3, nil)}, updated: &three,
		},
		"the Product after the Project": {
			parents: Parents{ProjectCascades: []Cascade{archive(1)}, ProjectArchivedAt: &one, ProductCascades: []Cascade{archive(3)}, ProductArchivedAt: &three},
			entries: []task.Entry{entry("archive", "Parent archived", 1, project)}, archived: &one, updated: &one,
		},
		"the Product restored does not bring it back": {
			parents: Parents{ProjectCascades: []Cascade{archive(1)}, ProjectArchivedAt: &one, ProductCascades: []Cascade{archive(2), restore(3)}},
			entries: []task.Entry{entry("archive", "Parent archived", 1, project)}, archived: &one, updated: &one,
		},
		"archived by itself first": {
			own:      &one,
			parents:  Parents{ProductCascades: []Cascade{archive(2), restore(3)}},
			archived: &one,
		},
	} {
		in := task.Task{ProductID: "P", ProjectID: "J", Status: task.StatusDone, ArchivedAt: c.own}
		got := ApplyToTask(in, c.parents)
		if d := cmp.Diff(c.entries, got.Transitions); d != "" {
			t.Errorf("%s: entries %s", name, d)
		}
		if d := cmp.Diff([]*time.Time{c.archived, c.updated}, []*time.Time{got.ArchivedAt, got.UpdatedAt}); d != "" {
			t.Errorf("%s: archived, updated %s", name, d)
		}
		// Catching the row up changes nothing that a reader sees.
		row := got
		if ArchivedThroughParent(row.Transitions) {
			row.ArchivedAt = nil
		}
		if d := cmp.Diff(got, ApplyToTask(row, c.parents)); d != "" {
			t.Errorf("%s: reading the caught-up row differs: %s", name, d)
		}
	}
}

func TestApplyToProject(t *testing.T) {
	t.Parallel()
	two := at(2)
	p := Project{ID: "J", ProductID: "P", Status: ProjectDone}
	archived := ApplyToProject(p, Product{ID: "P", Cascades: []Cascade{archive(2)}, ArchivedAt: &two})
	if archived.ArchivedAt == nil || len(archived.Transitions) != 1 {
		t.Fatalf("%+v", archived)
	}
	own := p.Archived(at(1))
	kept := ApplyToProject(own, Product{ID: "P", Cascades: []Cascade{archive(2), restore(3)}})
	if kept.ArchivedAt == nil || !kept.ArchivedAt.Equal(at(1)) || len(kept.Transitions) != 1 {
		t.Fatalf("a Project archived by itself came back with its Product: %+v", kept)
	}
}

func TestProjectEdges(t *testing.T) {
	t.Parallel()
	allowed := map[string]bool{"proposed>active": true, "proposed>cancelled": true, "active>done": true, "active>cancelled": true}
	for _, from := range ProjectStatuses() {
		for _, to := range ProjectStatuses() {
			p := Project{Status: from}
			err := p.CheckEdge(to)
			want := "Invalid project transition from " + string(from) + " to " + string(to)
			if ok := allowed[string(from)+">"+string(to)]; ok != (err == nil) || (!ok && err.Error() != want) {
				t.Errorf("%s to %s: %v", from, to, err)
			}
		}
	}
}
