package wire

import (
	"encoding/json"

	"companyos/shared/task"
)

// Task is a Task's record.
type Task struct {
	ProductID      string             `json:"product_id"`
	Title          string             `json:"title"`
	Brief          *string            `json:"brief"`
	ProjectID      string             `json:"project_id"`
	Evidence       []json.RawMessage  `json:"evidence" nullable:"true"` // objects; null when never given
	Origin         task.Origin        `json:"origin"`
	RoutineID      *string            `json:"routine_id"`
	DedupeKey      *string            `json:"dedupe_key"`
	ID             string             `json:"id"`
	Status         task.Status        `json:"status"`
	UserID         *string            `json:"user_id"`
	Transitions    []Entry            `json:"transitions"`
	CreatedAt      int64              `json:"created_at"`
	UpdatedAt      *int64             `json:"updated_at"`
	DeletedAt      *int64             `json:"deleted_at"`
	ExecutorType   *task.ExecutorKind `json:"executor_type"`
	ExecutorID     *string            `json:"executor_id"`
	AcceptedBy     *string            `json:"accepted_by"`
	AcceptedAt     *int64             `json:"accepted_at"`
	SessionID      string             `json:"session_id"`
	JobID          *string            `json:"job_id"`
	Sandboxed      bool               `json:"sandboxed"`
	Metadata       *TaskMetadata      `json:"metadata"`
	Result         *Result            `json:"result"`
	CancelledRunID string             `json:"cancelled_run_id,omitempty"` // answer of a transition that ended a live run
}

// TaskMetadata holds the pin.
type TaskMetadata struct {
	Checkout task.Checkout `json:"checkout"`
}

// Result is the outcome of the latest attempt that ended.
type Result struct {
	RunID       string            `json:"run_id"`
	Status      task.ResultStatus `json:"status"`
	Content     string            `json:"content"`
	ContentType string            `json:"content_type,omitempty"`
	SHA256      string            `json:"sha256,omitempty"` // of the content; a revision or an approval may name it
}

// NewTask builds a Task's record; sandboxed says that its executor now names an agent with a sandbox.
func NewTask(t task.Task, sandboxed bool) Task {
	out := Task{
		ProductID: t.ProductID, Title: t.Title, Brief: t.Brief, ProjectID: t.ProjectID, Evidence: t.Evidence, Origin: t.Origin,
		RoutineID: t.RoutineID, DedupeKey: t.DedupeKey, ID: t.ID, Status: t.Status, UserID: t.UserID,
		Transitions: newEntries(t.Transitions), CreatedAt: t.CreatedAt.Unix(), UpdatedAt: seconds(t.UpdatedAt),
		DeletedAt: seconds(t.ArchivedAt), ExecutorType: t.ExecutorType, ExecutorID: t.ExecutorID, AcceptedBy: t.AcceptedBy,
		AcceptedAt: seconds(t.AcceptedAt), SessionID: t.SessionID, JobID: t.JobID, Sandboxed: sandboxed,
	}
	if t.Checkout != nil {
		out.Metadata = &TaskMetadata{Checkout: *t.Checkout}
	}
	if t.Result != nil {
		out.Result = ptr(Result(*t.Result))
	}
	return out
}

// Entry is one line of a history. Which fields it has depends on what happened, as task.Entry says.
type Entry struct {
	Action         string           `json:"action,omitempty"`
	From           string           `json:"from"`
	Target         string           `json:"target"`
	Reason         string           `json:"reason"`
	UserID         *string          `json:"user_id"`
	CreatedAt      int64            `json:"created_at"`
	ArchivedBy     Opt[task.Parent] `json:"archived_by,omitzero"` // archivings and restorings; null for a record's own
	StartedBy      Opt[string]      `json:"started_by,omitzero"`
	SessionUserID  Opt[string]      `json:"session_user_id,omitzero"`
	Attempt        int              `json:"attempt,omitzero"`
	RunDBID        string           `json:"run_db_id,omitempty"`
	RevisionReason string           `json:"revision_reason,omitempty"`
	AutoAccept     *task.AutoAccept `json:"auto_accept,omitempty"`
}

// newEntries shows a history without the rights that were saved in it.
func newEntries(entries []task.Entry) []Entry {
	out := make([]Entry, len(entries))
	for i, e := range entries {
		out[i] = newEntry(e)
	}
	return out
}

func newEntry(e task.Entry) Entry {
	out := Entry{
		Action: e.Action, From: e.From, Target: e.Target, Reason: e.Reason, UserID: e.UserID, CreatedAt: e.CreatedAt,
		Attempt: e.Attempt, RunDBID: e.RunDBID, RevisionReason: e.RevisionReason, AutoAccept: e.AutoAccept,
	}
	if e.Action != "" {
		out.ArchivedBy = optional(e.ArchivedBy)
	}
	if e.Attempt > 0 {
		out.StartedBy, out.SessionUserID = optional(e.StartedBy), optional(e.SessionUserID)
	}
	return out
}

// optional is a field that is there, null when v is nil.
func optional[T any](v *T) Opt[T] {
	if v == nil {
		return Null[T]()
	}
	return Some(*v)
}
