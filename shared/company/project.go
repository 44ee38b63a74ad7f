package company

import (
	"slices"
	"strings"
	"time"

	"companyos/shared/task"
)

// projectEdges are the transitions of a Project.
var projectEdges = map[ProjectStatus][]ProjectStatus{
	ProjectProposed:  {ProjectActive, ProjectCancelled},
	ProjectActive:    {ProjectDone, ProjectCancelled},
	ProjectDone:      {},
	ProjectCancelled: {},
}

// CheckEdge says whether a Project may move there. KindConflict otherwise.
func (p *Project) CheckEdge(target ProjectStatus) error {
	if slices.Contains(projectEdges[p.Status], target) {
		return nil
	}
	return task.Conflictf("invalid_transition", "Read the Project and choose a transition that its status allows.",
		"Invalid project transition from %s to %s", p.Status, target)
}

// Moved returns the Project after the transition; CheckEdge has passed.
func (p Project) Moved(target ProjectStatus, reason, userID string, now time.Time) Project {
	return p.with(task.Entry{From: string(p.Status), Target: string(target), Reason: reason, UserID: &userID, CreatedAt: now.Unix()}, now)
}

// Archived returns the Project archived by itself, with the cascade that its Tasks see.
func (p Project) Archived(now time.Time) Project {
	p = p.with(task.Entry{
		Action: string(CascadeArchive), From: string(p.Status), Target: string(p.Status), Reason: ReasonArchived, CreatedAt: now.Unix(),
	}, now)
	p.ArchivedAt = &now
	p.Cascades = append(slices.Clone(p.Cascades), Cascade{CascadeArchive, now})
	return p
}

// Restored undoes Archived.
func (p Project) Restored(now time.Time) Project {
	p = p.with(task.Entry{
		Action: string(CascadeRestore), From: string(p.Status), Target: string(p.Status), Reason: ReasonRestored, CreatedAt: now.Unix(),
	}, now)
	p.ArchivedAt = nil
	p.Cascades = append(slices.Clone(p.Cascades), Cascade{CascadeRestore, now})
	return p
}

func (p Project) with(e task.Entry, now time.Time) Project {
	p.Transitions = append(slices.Clone(p.Transitions), e)
	p.Status, p.UpdatedAt = ProjectStatus(e.Target), &now
	return p
}

// OpenTasksError refuses to finish a Project that still has work in it.
func OpenTasksError(open []task.Ref) error {
	names := make([]string, len(open))
	for i, t := range open {
		names[i] = t.Title + " (" + t.ID + ")"
	}
	return task.Conflictf("project_has_open_tasks", "Complete or cancel these Tasks first.", "Project has open Tasks: %s", strings.Join(names, ", "))
}

// ActiveTasksError refuses to archive a parent of accepted, unfinished work.
func ActiveTasksError(active []task.Ref) error {
	e := task.Conflictf("active_tasks", "Complete, cancel or return these Tasks to backlog first.", "Cannot archive with active Tasks")
	e.Open = active
	return e
}

// Archived returns the Product archived, with the cascade that its Projects and Tasks see.
func (p Product) Archived(now time.Time) Product {
	p.ArchivedAt, p.UpdatedAt = &now, &now
	p.Cascades = append(slices.Clone(p.Cascades), Cascade{CascadeArchive, now})
	return p
}

// Restored undoes Archived.
func (p Product) Restored(now time.Time) Product {
	p.ArchivedAt, p.UpdatedAt = nil, &now
	p.Cascades = append(slices.Clone(p.Cascades), Cascade{CascadeRestore, now})
	return p
}
