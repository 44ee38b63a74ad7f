package task

import (
	"strconv"
	"time"

	"github.com/google/uuid"
)

// State is the state of a run.
type State string

// The states of a run.
//
// Pending: reserved, waits for a slot (sandboxed) or a worker. Launching: holds a slot, a sandbox was or is being asked
// for, nobody has claimed it. Running: an instance claimed it. Cancelling: a cancel was asked for and something may
// still run. Completed, Error and Cancelled are terminal and never change again.
const (
	StatePending    State = "PENDING"
	StateLaunching  State = "LAUNCHING"
	StateRunning    State = "RUNNING"
	StateCancelling State = "CANCELLING"
	StateCompleted  State = "COMPLETED"
	StateError      State = "ERROR"
	StateCancelled  State = "CANCELLED"
)

// Terminal says that a run in this state never changes again.
func (s State) Terminal() bool {
	return s == StateCompleted || s == StateError || s == StateCancelled
}

// Public is the contract's word for a state: a launching run reads PENDING, a cancelling one RUNNING.
func (s State) Public() string {
	switch s {
	case StateLaunching:
		return string(StatePending)
	case StateCancelling:
		return string(StateRunning)
	default:
		return string(s)
	}
}

// EndKind says why a run ended. The list is closed.
type EndKind string

// The kinds of ends.
const (
	EndCompleted              EndKind = "completed"
	EndFailed                 EndKind = "failed"
	EndCancelled              EndKind = "cancelled"
	EndPinMismatch            EndKind = "pin_mismatch"
	EndNoPin                  EndKind = "no_pin"
	EndRepositoryNotFound     EndKind = "repository_not_found"
	EndRepositoryUnauthorized EndKind = "repository_unauthorized"
	EndBranchMissing          EndKind = "branch_missing"
	EndCommitMissing          EndKind = "commit_missing"
	EndSourceGone             EndKind = "source_gone"
	EndCheckoutTimeout        EndKind = "checkout_timeout"
	EndCheckoutTooLarge       EndKind = "checkout_too_large"
	EndStorageFull            EndKind = "storage_full"
	EndNeverStarted           EndKind = "never_started"
	EndImageUnavailable       EndKind = "image_unavailable"
	EndNoCapacity             EndKind = "no_capacity"
	EndOutOfMemory            EndKind = "out_of_memory"
	EndInterrupted            EndKind = "interrupted"
	EndLost                   EndKind = "lost"
	EndStartTimeout           EndKind = "start_timeout"
	EndRunTimeout             EndKind = "run_timeout"
	EndIdleTimeout            EndKind = "idle_timeout"
	EndBudgetExhausted        EndKind = "budget_exhausted"
	EndOutputLimit            EndKind = "output_limit"
	EndNoOutput               EndKind = "no_output"
	EndLockFailed             EndKind = "lock_failed"
	EndHarnessMissing         EndKind = "harness_missing"
	EndModelUnauthorized      EndKind = "model_unauthorized"
	EndModelUnavailable       EndKind = "model_unavailable"
	EndUsageLimit             EndKind = "usage_limit"
	EndModelRejected          EndKind = "model_rejected"
	EndContextExceeded        EndKind = "context_exceeded"
	EndExecutorRevoked        EndKind = "executor_revoked"
	EndSecretMissing          EndKind = "secret_missing"
	EndInternal               EndKind = "internal"
)

// EndKinds lists all kinds.
func EndKinds() []EndKind {
	return []EndKind{
		EndCompleted, EndFailed, EndCancelled, EndPinMismatch, EndNoPin, EndRepositoryNotFound, EndRepositoryUnauthorized,
		EndBranchMissing, EndCommitMissing, EndSourceGone, EndCheckoutTimeout, EndCheckoutTooLarge, EndStorageFull,
		EndNeverStarted, EndImageUnavailable, EndNoCapacity, EndOutOfMemory, EndInterrupted, EndLost, EndStartTimeout,
		EndRunTimeout, EndIdleTimeout, EndBudgetExhausted, EndOutputLimit, EndNoOutput, EndLockFailed, EndHarnessMissing,
		EndModelUnauthorized, EndModelUnavailable, EndUsageLimit, EndModelRejected, EndContextExceeded, EndExecutorRevoked,
		EndSecretMissing, EndInternal,
	}
}

// Ended says how and why a run ended, in words for people.
type Ended struct {
	Kind    EndKind `json:"kind"`
	Message string  `json:"message"`
	Limit   string  `json:"limit,omitempty"` // the limit that fired: start, prepare, run, idle, budget, output, cancel_grace
}

// Usage is what a run consumed. Cost is unknown unless CostKnown.
type Usage struct {
	InputTokens      int64    `json:"input_tokens"`
	OutputTokens     int64    `json:"output_tokens"`
	CacheReadTokens  int64    `json:"cache_read_tokens"`
	CacheWriteTokens int64    `json:"cache_write_tokens"`
	CostUSD          *float64 `json:"cost_usd"`
	CostKnown        bool     `json:"cost_known"`
}

// Valid says whether the counts can be ones. No usage is a valid one.
func (u *Usage) Valid() bool {
	return u == nil || min(u.InputTokens, u.OutputTokens, u.CacheReadTokens, u.CacheWriteTokens) >= 0 && (u.CostUSD == nil || *u.CostUSD >= 0)
}

// Artifact names a stored object of a run.
type Artifact struct {
	Kind   string `json:"kind"` // patch, transcript, result, log
	Key    string `json:"key"`
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size"`

	// What the result says of its patch and transcript.
	Files    int   `json:"files,omitempty"`    // patch: files changed
	TakenAt  int64 `json:"taken_at,omitempty"` // epoch seconds
	Redacted bool  `json:"redacted,omitempty"` // a secret was taken out: evidence, not to be put back
}

// RunCheckout is what a run was asked to check out and what it reported before the agent started.
type RunCheckout struct {
	URL       string `json:"url"`
	Branch    string `json:"branch"`
	Commit    string `json:"commit"`    // empty until prepared
	Requested string `json:"requested"` // the pinned commit that was sent, empty on a first attempt
}

// Run is one attempt of a Task.
type Run struct {
	ID           string
	TaskID       string
	ProductID    string
	Attempt      int
	SessionID    string
	UserID       *string // session owner
	StartedBy    *string
	ExecutorType ExecutorKind
	ExecutorID   string
	Sandboxed    bool
	State        State
	InputKey     string // blob
	InputSHA256  string
	SourceID     string // the git Source that matched at the start, empty when unsandboxed
	Checkout     RunCheckout
	CreatedAt    time.Time
	UpdatedAt    *time.Time
	DueAt        time.Time  // next look at the latest
	StartUntil   time.Time  // start limit: reservation to claim
	RunUntil     *time.Time // run limit, set by the claim
	StopGrace    time.Duration

	Launch        int        // 0 until admitted
	LaunchToken   string     // plain until claimed, then empty
	LaunchHash    string     // sha256 of the launch token
	TokenUntil    *time.Time // an unclaimed launch token is refused after it
	CallingUntil  *time.Time // a RunTask call of this launch is in flight until then
	SandboxARN    string     // what the launcher answered
	ClaimedBy     string     // instance id
	ClaimedAt     *time.Time
	SessionHash   string // sha256 of the session token
	LeaseUntil    *time.Time
	CancelAt      *time.Time
	StoppedAt     *time.Time // the launch's sandbox has stopped
	StopReason    string
	PreparedAt    *time.Time
	EventBatches  int // batches of this launch taken so far
	ResultKey     string
	ResultSHA256  string // of the announced or reported result.json
	Content       string
	ContentType   string
	Ended         *Ended
	Usage         *Usage
	Artifacts     []Artifact
	SandboxInfo   *SandboxInfo
	EndedAt       *time.Time
	WaitingReason string // slot, capacity, throttled, provider_limit
	WaitingSince  *time.Time
}

// SandboxInfo describes the sandbox of a run.
type SandboxInfo struct {
	Image          string `json:"image,omitempty"`
	HarnessVersion string `json:"harness_version,omitempty"`
	Lock           string `json:"lock,omitempty"`
	SessionLost    bool   `json:"session_lost,omitempty"` // the conversation of the earlier attempts could not be continued
}

// NeedsLook says that somebody still has to look at the run: it is not terminal, or its sandbox may still run.
func (r *Run) NeedsLook() bool {
	return !r.State.Terminal() || (r.Launch > 0 && r.StoppedAt == nil)
}

// RunID is the id of a Task's n-th attempt. It is the contract's formula, so that a repeat names the same run.
func RunID(taskID string, attempt int) string {
	return uuid.NewSHA1(uuid.NameSpaceURL, []byte("agno:company:task:"+taskID+":attempt:"+strconv.Itoa(attempt))).String()
}
