// Package company holds the records that a Company keeps beside its Tasks: Products, Sources, Projects. It is pure.
package company

import (
	"encoding/json"
	"time"

	"companyos/shared/task"
)

// DefaultArchiveWindowDays is how long finished work stays visible before Refresh archives it.
const DefaultArchiveWindowDays = 14

// Product is what a team works on.
type Product struct {
	ID         string
	Name       string
	Purpose    *string
	UserID     *string
	Metadata   map[string]json.RawMessage // always holds archive_window_days
	Cascades   []Cascade
	Revision   int64
	CreatedAt  time.Time
	UpdatedAt  *time.Time
	ArchivedAt *time.Time
}

// Source is something a Product's work is based on: a git repository, Markdown files or a website.
type Source struct {
	ID            string
	ProductID     string
	Type          SourceType
	Reference     string
	CredentialRef *string
	Config        json.RawMessage
	UserID        *string
	Revision      int64
	CreatedAt     time.Time
	UpdatedAt     *time.Time
	ArchivedAt    *time.Time
}

// SourceType is the type of a Source.
type SourceType string

// The types of Sources.
const (
	SourceGit      SourceType = "git"
	SourceMarkdown SourceType = "markdown"
	SourceWebsite  SourceType = "website"
)

// ProjectStatus is the state of a Project.
type ProjectStatus string

// The states of a Project. Done and cancelled are final.
const (
	ProjectProposed  ProjectStatus = "proposed"
	ProjectActive    ProjectStatus = "active"
	ProjectDone      ProjectStatus = "done"
	ProjectCancelled ProjectStatus = "cancelled"
)

// ProjectStatuses lists all states.
func ProjectStatuses() []ProjectStatus {
	return []ProjectStatus{ProjectProposed, ProjectActive, ProjectDone, ProjectCancelled}
}

// Open says that a Project in this state takes new work.
func (s ProjectStatus) Open() bool { return s == ProjectProposed || s == ProjectActive }

// Project groups the Tasks of one outcome.
type Project struct {
	ID             string
	ProductID      string
	Name           string
	Outcome        *string
	Status         ProjectStatus
	TargetDate     *int64
	UserID         *string
	Transitions    []task.Entry
	Cascades       []Cascade
	ProductArchive int // how many of the Product's cascades the transitions hold
	Revision       int64
	CreatedAt      time.Time
	UpdatedAt      *time.Time
	ArchivedAt     *time.Time // archived by itself, or through the Product
}

// TaskCounts counts the visible Tasks by status.
type TaskCounts map[task.Status]int64

// ProductCounts is what a Product's record counts.
type ProductCounts struct {
	Projects int64 // proposed or active
	Tasks    TaskCounts
}

// Attention counts what waits for a person.
type Attention struct {
	AutomationFailures []AutomationFailure // newest streak first
	Proposals          int64
	InReview           int64
	Failed             int64
}
