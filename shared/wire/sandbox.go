package wire

import (
	"time"

	"companyos/shared/task"
)

// The sandbox's API. Every call is a POST of JSON with "Authorization: Bearer <token>": the launch token for
// /sandbox/claim, the session token that claim answered for all others. Neither opens any other route.

// WorkVersion is the version of Work that this build writes and reads.
const WorkVersion = 1

// Seconds is a span of time on the wire.
type Seconds int64

// Duration converts to Go's unit.
func (s Seconds) Duration() time.Duration { return time.Duration(s) * time.Second }

// ClaimRequest asks for the work of a launch. The first instance wins; the same instance may ask again.
type ClaimRequest struct {
	Instance string `json:"instance"` // a random id, made once by each supervisor process
}

// ClaimResponse carries everything a supervisor needs. It holds secrets and never leaves the supervisor's memory.
type ClaimResponse struct {
	Session   string            `json:"session"`    // the session token
	ExpiresAt int64             `json:"expires_at"` // of the session token, epoch seconds
	Secrets   map[string]string `json:"secrets"`    // those that the executor lists, by name
	Work      Work              `json:"work"`
}

// Work is one launch of one attempt.
type Work struct {
	Version      int             `json:"version"`
	RunID        string          `json:"run_id"`
	Launch       int             `json:"launch"`
	TaskID       string          `json:"task_id"`
	SessionID    string          `json:"session_id"`
	Attempt      int             `json:"attempt"`
	Deadline     int64           `json:"deadline"` // of the launch, epoch seconds: nothing is reported after it
	Repository   *WorkRepository `json:"repository"`
	Harness      string          `json:"harness"` // claude, codex, model, fixture
	Model        string          `json:"model"`   // empty for fixture
	InputURL     string          `json:"input_url"`
	Instructions string          `json:"instructions"`
	Session      *WorkTranscript `json:"session"` // the conversation to continue; null on a first attempt
	Patch        *WorkPatch      `json:"patch"`   // the last completed attempt's changes; null when there are none
	Limits       WorkLimits      `json:"limits"`
	Egress       []string        `json:"egress"`           // hosts the agent may reach beside the model
	Company      bool            `json:"company,omitzero"` // the agent gets the Company's tools
	Price        *WorkPrice      `json:"price"`            // of the model; null when the operator's list does not have it
}

// WorkPrice is what the model costs, in US dollars for a million tokens.
type WorkPrice struct {
	Input      float64 `json:"input"`
	Output     float64 `json:"output"`
	CacheRead  float64 `json:"cache_read"`
	CacheWrite float64 `json:"cache_write"`
}

// WorkRepository is what to check out.
type WorkRepository struct {
	URL    string  `json:"url"`
	Branch string  `json:"branch"`
	Commit *string `json:"commit"` // the pin; null on a first attempt: resolve the branch once
}

// WorkTranscript is the conversation of the earlier attempts.
type WorkTranscript struct {
	TranscriptURL string `json:"transcript_url"`
	SHA256        string `json:"sha256"`
}

// WorkPatch is the change that the last completed attempt left.
type WorkPatch struct {
	URL    string `json:"url"`
	SHA256 string `json:"sha256"`
}

// WorkLimits are the executor's limits that the supervisor enforces. Zero means none.
type WorkLimits struct {
	Prepare     Seconds `json:"prepare"`
	Run         Seconds `json:"run"`
	Idle        Seconds `json:"idle"`
	CancelGrace Seconds `json:"cancel_grace"`
	BudgetUSD   float64 `json:"budget_usd"`
	Output      int64   `json:"output"` // bytes of patch and of transcript, each
}

// PreparedRequest says what was checked out, before the agent starts.
type PreparedRequest struct {
	URL      string   `json:"url"`
	Branch   string   `json:"branch"`
	Commit   string   `json:"commit"`   // 40 hex digits
	Warnings []string `json:"warnings"` // submodules, LFS pointers: what was left out and where
}

// PreparedResponse lets the agent start. A wrong pin is ErrPinMismatch instead.
type PreparedResponse struct {
	Go bool `json:"go"`
}

// EventType is the kind of an event of a run.
type EventType string

// The types of events. The API writes waiting, launched, claimed, prepared and cancelling itself.
const (
	EventWaiting      EventType = "waiting"
	EventLaunched     EventType = "launched"
	EventClaimed      EventType = "claimed"
	EventPreparing    EventType = "preparing"
	EventPrepared     EventType = "prepared"
	EventStarted      EventType = "started"
	EventMessage      EventType = "message"
	EventToolStarted  EventType = "tool_started"
	EventToolFinished EventType = "tool_finished"
	EventUsage        EventType = "usage"
	EventRefused      EventType = "refused"
	EventWarning      EventType = "warning"
	EventPatched      EventType = "patched"
	EventCancelling   EventType = "cancelling"
	EventFinished     EventType = "finished"
)

// EventTypes lists all types.
func EventTypes() []EventType {
	return []EventType{
		EventWaiting, EventLaunched, EventClaimed, EventPreparing, EventPrepared, EventStarted, EventMessage,
		EventToolStarted, EventToolFinished, EventUsage, EventRefused, EventWarning, EventPatched, EventCancelling,
		EventFinished,
	}
}

// Event is one thing that happened in a run. Which fields are set depends on the type; absent ones are left out.
type Event struct {
	Seq            int64        `json:"seq,omitzero"` // given by the API
	At             int64        `json:"at"`           // epoch seconds
	Type           EventType    `json:"type"`
	Text           string       `json:"text,omitempty"`            // message, warning, refused, finished: words for people, bounded and redacted
	Tool           string       `json:"tool,omitempty"`            // tool_started, tool_finished
	ToolID         string       `json:"tool_id,omitempty"`         // pairs a tool's start with its end
	Input          string       `json:"input,omitempty"`           // tool_started: what it was called with
	Output         string       `json:"output,omitempty"`          // tool_finished: what it printed
	ExitCode       *int         `json:"exit_code,omitempty"`       // tool_finished of a command
	Failed         bool         `json:"failed,omitzero"`           // tool_finished
	Host           string       `json:"host,omitempty"`            // refused: where the agent wanted to go
	Reason         string       `json:"reason,omitempty"`          // waiting: slot, capacity, throttled, provider_limit
	URL            string       `json:"url,omitempty"`             // preparing, prepared
	Branch         string       `json:"branch,omitempty"`          // preparing, prepared
	Commit         string       `json:"commit,omitempty"`          // prepared
	Paths          []string     `json:"paths,omitempty"`           // warning: the files it is about
	SHA256         string       `json:"sha256,omitempty"`          // patched
	Size           int64        `json:"size,omitzero"`             // patched, bytes
	Files          int          `json:"files,omitzero"`            // patched
	Redacted       bool         `json:"redacted,omitzero"`         // patched: a secret was taken out
	Session        string       `json:"session,omitempty"`         // warning: SessionLost
	Usage          *task.Usage  `json:"usage,omitempty"`           // usage: totals so far
	Kind           task.EndKind `json:"kind,omitempty"`            // finished
	HarnessVersion string       `json:"harness_version,omitempty"` // started
	Lock           string       `json:"lock,omitempty"`            // started: what holds the agent's network
	Launch         int          `json:"launch,omitzero"`           // launched, claimed
}

// SessionLost is what a warning says of a session when the conversation of the earlier attempts could not be continued.
const SessionLost = "lost"

// RunEvents is what happened in a run after a point.
type RunEvents struct {
	Data     []Event `json:"data"`
	Next     int64   `json:"next"`     // what to ask after next
	Terminal bool    `json:"terminal"` // the run has ended, and these are its last events so far
}

// EventsRequest is one batch of events, at most 256 KiB. N counts the batches of this launch, from 1: a batch that was
// taken already is answered again and not stored twice.
type EventsRequest struct {
	N      int     `json:"n"`
	Events []Event `json:"events"`
}

// EventsResponse tells the supervisor whether the run is to end. An empty batch is a way to ask.
type EventsResponse struct {
	Cancel bool `json:"cancel"`
}

// ArtifactKind is what an uploaded object is.
type ArtifactKind string

// The kinds of artifacts.
const (
	ArtifactPatch      ArtifactKind = "patch"
	ArtifactTranscript ArtifactKind = "transcript"
	ArtifactResult     ArtifactKind = "result"
	ArtifactLog        ArtifactKind = "log"
)

// ArtifactRequest announces an object before it is uploaded.
type ArtifactRequest struct {
	Kind   ArtifactKind `json:"kind"`
	SHA256 string       `json:"sha256"` // 64 hex digits, of the bytes
	Size   int64        `json:"size"`   // bytes
}

// ArtifactResponse says where to put it.
type ArtifactResponse struct {
	PutURL string `json:"put_url"`
}

// ResultFile is the content of result.json, uploaded before the result is reported.
type ResultFile struct {
	Kind       task.EndKind    `json:"kind"`
	Content    string          `json:"content"` // the agent's answer, or why there is none
	Usage      *task.Usage     `json:"usage"`
	Patch      *ResultArtifact `json:"patch"`
	Transcript *ResultArtifact `json:"transcript"`
}

// ResultArtifact names an uploaded object of the same launch.
type ResultArtifact struct {
	SHA256   string `json:"sha256"`
	Size     int64  `json:"size"`
	Files    int    `json:"files,omitzero"`    // patch: files changed
	TakenAt  int64  `json:"taken_at,omitzero"` // epoch seconds
	Redacted bool   `json:"redacted,omitzero"` // a secret was taken out: it is evidence, and not put back in a later attempt
}

// ResultRequest reports the end of the run by the hash of the uploaded result.json.
type ResultRequest struct {
	SHA256 string `json:"sha256"`
}

// ResultResponse confirms it; the same report again gets the same answer.
type ResultResponse struct {
	Accepted bool `json:"accepted"`
}
