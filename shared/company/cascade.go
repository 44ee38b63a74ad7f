package company

import (
	"slices"
	"time"

	"companyos/shared/task"
)

// Archiving or restoring a parent writes the parent alone and appends one Cascade to it. Whoever reads a child applies
// the cascades that its history does not hold yet, with the functions of this file; whoever writes a child stores the
// result. So a child shows the same entry whether its row was caught up or not.

// Cascade is one archiving or restoring of a parent, as its children see it.
type Cascade struct {
	Action CascadeAction `json:"action"`
	At     time.Time     `json:"at"`
}

// CascadeAction is what a Cascade does.
type CascadeAction string

// The actions of a Cascade.
const (
	CascadeArchive CascadeAction = "archive"
	CascadeRestore CascadeAction = "restore"
)

// Reasons of the entries that archiving and restoring leave in a history.
const (
	ReasonArchived       = "Archived"
	ReasonParentArchived = "Parent archived"
	ReasonRestored       = "Restored"
)

type parentCascade struct {
	Cascade
	parent task.Parent
}

// history is what cascades change in a child.
type history struct {
	status     string
	entries    []task.Entry
	updatedAt  *time.Time
	archivedAt *time.Time
}

// ApplyToProject brings a Project up to date with its Product's cascades and returns it as a reader sees it.
func ApplyToProject(p Project, product Product) Project {
	h := history{status: string(p.Status), entries: p.Transitions, updatedAt: p.UpdatedAt, archivedAt: p.ArchivedAt}
	h.apply(pending(task.Parent{Type: "product", ID: product.ID}, product.Cascades, p.ProductArchive))
	h.keepArchived(task.Parent{Type: "product", ID: product.ID}, product.ArchivedAt)
	p.Transitions, p.UpdatedAt, p.ArchivedAt = h.entries, h.updatedAt, h.archivedAt
	p.ProductArchive = len(product.Cascades)
	return p
}

// Parents is what a Task's row needs of its parents to be read.
type Parents struct {
	ProductArchivedAt *time.Time
	ProductCascades   []Cascade
	ProjectArchivedAt *time.Time // the Project's own archiving
	ProjectCascades   []Cascade
}

// ApplyToTask brings a Task up to date with its parents' cascades and returns it as a reader sees it.
func ApplyToTask(t task.Task, p Parents) task.Task {
	product, project := task.Parent{Type: "product", ID: t.ProductID}, task.Parent{Type: "project", ID: t.ProjectID}
	h := history{status: string(t.Status), entries: t.Transitions, updatedAt: t.UpdatedAt, archivedAt: t.ArchivedAt}
	due := append(pending(product, p.ProductCascades, t.ProductArchive), pending(project, p.ProjectCascades, t.ProjectArchive)...)
	slices.SortStableFunc(due, func(a, b parentCascade) int { return a.At.Compare(b.At) })
	h.apply(due)
	h.keepArchived(project, p.ProjectArchivedAt)
	h.keepArchived(product, p.ProductArchivedAt)
	t.Transitions, t.UpdatedAt, t.ArchivedAt = h.entries, h.updatedAt, h.archivedAt
	t.ProductArchive, t.ProjectArchive = len(p.ProductCascades), len(p.ProjectCascades)
	return t
}

func pending(parent task.Parent, all []Cascade, seen int) []parentCascade {
	var due []parentCascade
	for _, c := range all[min(seen, len(all)):] {
		due = append(due, parentCascade{c, parent})
	}
	return due
}

// apply appends an archive entry where the child was not archived, and a restore entry where the child's last entry is
// an archiving by this very parent.
func (h *history) apply(due []parentCascade) {
	for _, c := range due {
		by := h.archivedBy()
		switch {
		case c.Action == CascadeArchive && h.archivedAt == nil && by == nil:
			h.append(c.At, string(CascadeArchive), ReasonParentArchived, &c.parent)
		case c.Action == CascadeRestore && by != nil && *by == c.parent:
			h.append(c.At, string(CascadeRestore), ReasonRestored, nil)
		}
	}
}

func (h *history) append(at time.Time, action, reason string, by *task.Parent) {
	h.entries = append(slices.Clone(h.entries), task.Entry{
		Action: action, From: h.status, Target: h.status, Reason: reason, CreatedAt: at.Unix(), ArchivedBy: by,
	})
	h.updatedAt = &at
}

// archivedBy is the parent that the child is archived through, if its last entry says so.
func (h *history) archivedBy() *task.Parent {
	if len(h.entries) == 0 {
		return nil
	}
	last := h.entries[len(h.entries)-1]
	if last.Action != string(CascadeArchive) {
		return nil
	}
	return last.ArchivedBy
}

// keepArchived derives when a child was archived from the parent that took it along: the row itself holds only the
// child's own archiving.
func (h *history) keepArchived(parent task.Parent, at *time.Time) {
	if by := h.archivedBy(); h.archivedAt == nil && by != nil && *by == parent {
		h.archivedAt = at
	}
}

// ArchivedThroughParent says that a child with this history is archived because a parent was, not by itself.
func ArchivedThroughParent(entries []task.Entry) bool {
	h := history{entries: entries}
	return h.archivedBy() != nil
}
