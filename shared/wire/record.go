package wire

import (
	"encoding/json"
	"time"

	"companyos/shared/company"
	"companyos/shared/task"
)

// Times of records are epoch seconds.

// Page is one page of a list.
type Page[T any] struct {
	Data []T  `json:"data"`
	Meta Meta `json:"meta"`
}

// Meta says which page it is and how much there is. NextCursor continues a list that can be read by cursor; a list without
// one is at its end.
type Meta struct {
	Page         int     `json:"page"`
	Limit        int     `json:"limit"`
	TotalPages   int64   `json:"total_pages"`
	TotalCount   int64   `json:"total_count"`
	SearchTimeMS float64 `json:"search_time_ms"`
	NextCursor   *string `json:"next_cursor,omitzero"`
}

// NewPage builds a page of records from rows.
func NewPage[R, T any](rows []R, total int64, q Query, build func(R) T) Page[T] {
	p := Page[T]{Data: make([]T, len(rows)), Meta: Meta{Page: q.Page, Limit: q.Limit, TotalCount: total}}
	p.Meta.TotalPages = (total + int64(q.Limit) - 1) / int64(q.Limit)
	for i, r := range rows {
		p.Data[i] = build(r)
	}
	return p
}

// TaskCounts counts visible Tasks by status.
type TaskCounts struct {
	Backlog    int64 `json:"backlog"`
	Ready      int64 `json:"ready"`
	InProgress int64 `json:"in_progress"`
	InReview   int64 `json:"in_review"`
	Done       int64 `json:"done"`
	Cancelled  int64 `json:"cancelled"`
}

// NewTaskCounts gives every status a figure.
func NewTaskCounts(c company.TaskCounts) TaskCounts {
	return TaskCounts{
		Backlog: c[task.StatusBacklog], Ready: c[task.StatusReady], InProgress: c[task.StatusInProgress],
		InReview: c[task.StatusInReview], Done: c[task.StatusDone], Cancelled: c[task.StatusCancelled],
	}
}

// ProductCounts is what a Product's record counts.
type ProductCounts struct {
	Tasks    TaskCounts `json:"tasks"`
	Projects int64      `json:"projects"` // proposed or active
}

// Product is a Product's record.
type Product struct {
	Counts ProductCounts `json:"counts"`
	ProductRow
}

// NewProduct builds a Product's record.
func NewProduct(p company.Product, c company.ProductCounts) Product {
	return Product{Counts: ProductCounts{Tasks: NewTaskCounts(c.Tasks), Projects: c.Projects}, ProductRow: NewProductRow(p)}
}

// ProductRow is a Product's record without what it counts.
type ProductRow struct {
	ID        string                     `json:"id"`
	Name      string                     `json:"name"`
	Purpose   *string                    `json:"purpose"`
	UserID    *string                    `json:"user_id"`
	Metadata  map[string]json.RawMessage `json:"metadata"`
	CreatedAt int64                      `json:"created_at"`
	UpdatedAt *int64                     `json:"updated_at"`
	DeletedAt *int64                     `json:"deleted_at"`
}

// NewProductRow builds a Product's record without what it counts.
func NewProductRow(p company.Product) ProductRow {
	return ProductRow{
		ID: p.ID, Name: p.Name, Purpose: p.Purpose, UserID: p.UserID, Metadata: p.Metadata,
		CreatedAt: p.CreatedAt.Unix(), UpdatedAt: seconds(p.UpdatedAt), DeletedAt: seconds(p.ArchivedAt),
	}
}

// ProjectCounts is what a Project's record counts.
type ProjectCounts struct {
	Tasks TaskCounts `json:"tasks"`
}

// Project is a Project's record.
type Project struct {
	Counts      ProjectCounts         `json:"counts"`
	ProductID   string                `json:"product_id"`
	Name        string                `json:"name"`
	Outcome     *string               `json:"outcome"`
	TargetDate  *int64                `json:"target_date"`
	ID          string                `json:"id"`
	Status      company.ProjectStatus `json:"status"`
	UserID      *string               `json:"user_id"`
	Transitions []Entry               `json:"transitions"`
	CreatedAt   int64                 `json:"created_at"`
	UpdatedAt   *int64                `json:"updated_at"`
	DeletedAt   *int64                `json:"deleted_at"`
}

// NewProject builds a Project's record.
func NewProject(p company.Project, c company.TaskCounts) Project {
	return Project{
		Counts:    ProjectCounts{Tasks: NewTaskCounts(c)},
		ProductID: p.ProductID, Name: p.Name, Outcome: p.Outcome, TargetDate: p.TargetDate, ID: p.ID, Status: p.Status,
		UserID: p.UserID, Transitions: newEntries(p.Transitions),
		CreatedAt: p.CreatedAt.Unix(), UpdatedAt: seconds(p.UpdatedAt), DeletedAt: seconds(p.ArchivedAt),
	}
}

// SourceRecord is a Source's record.
type SourceRecord struct {
	ID            string             `json:"id"`
	ProductID     string             `json:"product_id"`
	Type          company.SourceType `json:"type"`
	Reference     string             `json:"reference"`
	CredentialRef *string            `json:"credential_ref"`
	Config        json.RawMessage    `json:"config"`
	UserID        *string            `json:"user_id"`
	CreatedAt     int64              `json:"created_at"`
	UpdatedAt     *int64             `json:"updated_at"`
	DeletedAt     *int64             `json:"deleted_at"`
}

// NewSource builds a Source's record.
func NewSource(s company.Source) SourceRecord {
	config := s.Config
	if len(config) == 0 {
		config = json.RawMessage("{}")
	}
	return SourceRecord{
		ID: s.ID, ProductID: s.ProductID, Type: s.Type, Reference: s.Reference, CredentialRef: s.CredentialRef, Config: config,
		UserID: s.UserID, CreatedAt: s.CreatedAt.Unix(), UpdatedAt: seconds(s.UpdatedAt), DeletedAt: seconds(s.ArchivedAt),
	}
}

// WikiPage describes a version of a page. The contract's user_id is always null; written_by is who wrote the version.
type WikiPage struct {
	Path      string  `json:"path"`
	SizeBytes int64   `json:"size_bytes"`
	Version   *int64  `json:"version"`
	UpdatedAt *int64  `json:"updated_at"`
	UserID    *string `json:"user_id"`
	WrittenBy *string `json:"written_by"`
}

// NewWikiPage builds the description of a version.
func NewWikiPage(p company.PageInfo) WikiPage {
	return WikiPage{
		Path: p.Path, SizeBytes: int64(p.SizeBytes), Version: ptr(int64(p.Version)), UpdatedAt: seconds(&p.UpdatedAt), WrittenBy: p.UserID,
	}
}

// WikiRead is a page with its content.
type WikiRead struct {
	Content  string   `json:"content"`
	Metadata WikiPage `json:"metadata"`
}

// Decision is a decision's record. Its times are ISO 8601 with offset.
type Decision struct {
	ID             string   `json:"id"`
	Decision       string   `json:"decision"`
	Reasoning      *string  `json:"reasoning"`
	Context        *string  `json:"context"`
	Outcome        *string  `json:"outcome"`
	DecisionType   *string  `json:"decision_type"`
	Alternatives   []string `json:"alternatives" nullable:"true"`
	Confidence     *float64 `json:"confidence"`
	OutcomeQuality *string  `json:"outcome_quality"`
	Tags           []string `json:"tags" nullable:"true"`
	UserID         *string  `json:"user_id"`
	AgentID        *string  `json:"agent_id"`
	SessionID      *string  `json:"session_id"`
	TeamID         *string  `json:"team_id"`
	CreatedAt      *string  `json:"created_at"`
	UpdatedAt      *string  `json:"updated_at"`
}

// isoTime is ISO 8601 with an offset.
const isoTime = "2006-01-02T15:04:05.000000-07:00"

// NewDecision builds a decision's record. What the contract has and nobody here records stays null.
func NewDecision(d company.Decision) Decision {
	at := d.CreatedAt.UTC().Format(isoTime)
	return Decision{
		ID: d.ID, Decision: d.Decision, Reasoning: d.Reasoning, Context: d.Context, Outcome: d.Outcome, UserID: d.UserID,
		AgentID: d.AgentID, SessionID: d.SessionID, CreatedAt: &at, UpdatedAt: &at,
	}
}

// seconds is a time in whole epoch seconds.
func seconds(t *time.Time) *int64 {
	if t == nil {
		return nil
	}
	return ptr(t.Unix())
}
