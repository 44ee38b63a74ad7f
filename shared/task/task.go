package task

import (
	"encoding/json"
	"time"
)

// Status is the state of a Task.
type Status string

// The states of a Task.
//
// Backlog: proposed, nobody accepted it. Ready: accepted for an executor, no attempt started. InProgress: an attempt was
// started; it stays so when the attempt failed. InReview: an attempt succeeded and a person has to look. Done and
// Cancelled are final.
const (
	StatusBacklog    Status = "backlog"
	StatusReady      Status = "ready"
	StatusInProgress Status = "in_progress"
	StatusInReview   Status = "in_review"
	StatusDone       Status = "done"
	StatusCancelled  Status = "cancelled"
)

// Statuses lists all states in the contract's order.
func Statuses() []Status {
	return []Status{StatusBacklog, StatusReady, StatusInProgress, StatusInReview, StatusDone, StatusCancelled}
}

// Open says that a Task in this state is still work.
func (s Status) Open() bool { return s != StatusDone && s != StatusCancelled }

// Active says that a Task in this state was accepted and is not finished; it keeps its parents from being archived.
func (s Status) Active() bool {
	return s == StatusReady || s == StatusInProgress || s == StatusInReview
}

// ExecutorKind is the kind of an executor.
type ExecutorKind string

// The kinds of executors.
const (
	ExecutorAgent    ExecutorKind = "agent"
	ExecutorTeam     ExecutorKind = "team"
	ExecutorWorkflow ExecutorKind = "workflow"
)

// Origin says who proposed a Task.
type Origin string

// The origins of a Task.
const (
	OriginHuman          Origin = "human"
	OriginRoutine        Origin = "routine"
	OriginProductManager Origin = "product_manager"
)

// Task is one piece of work. Times have microseconds; the contract shows whole seconds.
type Task struct {
	ID             string
	ProductID      string
	ProjectID      string
	Title          string
	Brief          *string
	Evidence       []json.RawMessage // JSON objects; nil when never given
	Origin         Origin
	RoutineID      *string
	DedupeKey      *string
	Status         Status
	UserID         *string // creator, and session owner of every attempt
	Transitions    []Entry
	ExecutorType   *ExecutorKind
	ExecutorID     *string
	AcceptedBy     *string
	AcceptedAt     *time.Time
	SessionID      string
	JobID          *string // run id of the latest attempt
	LiveRunID      *string // the run that is not terminal, if any
	Checkout       *Checkout
	Result         *Result
	CreatedAt      time.Time
	UpdatedAt      *time.Time
	ArchivedAt     *time.Time // archived by itself, or through a parent
	Revision       int64      // grows with every write of the row
	ProductArchive int        // how many of the Product's cascades the transitions hold (see company.Cascade)
	ProjectArchive int        // the same for the Project's
}

// Failed says that the latest attempt ended without success and nobody has acted on it.
func (t *Task) Failed() bool {
	return t.Status == StatusInProgress && t.Result != nil && t.Result.Status != ResultCompleted
}

// Checkout is the pin: what the first successful sandboxed attempt worked on.
type Checkout struct {
	SourceID string `json:"source_id"`
	URL      string `json:"url"`
	Branch   string `json:"branch"`
	Commit   string `json:"commit"`
}

// ResultStatus is how an attempt ended for the Task.
type ResultStatus string

// The ends of an attempt.
const (
	ResultCompleted ResultStatus = "COMPLETED"
	ResultError     ResultStatus = "ERROR"
	ResultCancelled ResultStatus = "CANCELLED"
)

// Result is the outcome of the latest attempt that ended.
type Result struct {
	RunID       string       `json:"run_id"`
	Status      ResultStatus `json:"status"`
	Content     string       `json:"content"`
	ContentType string       `json:"content_type,omitempty"`
	SHA256      string       `json:"sha256,omitempty"` // of the content, what an approval may be bound to
}

// Entry is one line of a Task's or Project's history. Entries are only ever appended.
type Entry struct {
	Action         string         `json:"action,omitempty"` // archive, restore; empty for a transition
	From           string         `json:"from"`
	Target         string         `json:"target"`
	Reason         string         `json:"reason"`
	UserID         *string        `json:"user_id"`
	CreatedAt      int64          `json:"created_at"` // epoch seconds
	ArchivedBy     *Parent        `json:"archived_by,omitempty"`
	StartedBy      *string        `json:"started_by,omitempty"`      // reservations only
	SessionUserID  *string        `json:"session_user_id,omitempty"` // reservations only
	Attempt        int            `json:"attempt,omitempty"`         // reservations only
	RunDBID        string         `json:"run_db_id,omitempty"`       // reservations only
	RevisionReason string         `json:"revision_reason,omitempty"` // the reviewer's words, reservations only
	AutoAccept     *AutoAccept    `json:"auto_accept,omitempty"`     // acceptances by a Routine only
	Authority      *Authorization `json:"authority,omitempty"`       // acceptances only; never shown
}

// Parent names the record whose archiving took a child along.
type Parent struct {
	Type string `json:"type"` // product, project
	ID   string `json:"id"`
}

// AutoAccept names the Routine and the policy that accepted a Task.
type AutoAccept struct {
	RoutineID      string `json:"routine_id"`
	Policy         string `json:"policy"` // fingerprint
	MaxAcceptances int    `json:"max_acceptances"`
}

// Authorization is a snapshot of the verified claims of whoever accepted a Task.
type Authorization struct {
	PrincipalID string   `json:"principal_id"`
	Scopes      []string `json:"scopes"`
	IssuedAt    int64    `json:"issued_at"`
	Groups      []string `json:"groups,omitempty"` // whose rights the scopes were
}
