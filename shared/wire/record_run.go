package wire

import (
	"unicode/utf8"

	"companyos/shared/task"
)

// listedContent is how much of a run's content a list shows.
const listedContent = 64 << 10

// Run is a run's record: the contract's row, and what is known beyond it.
type Run struct {
	RunID        string       `json:"run_id"`
	SessionID    string       `json:"session_id"`
	RunType      string       `json:"run_type"` // agent, team, workflow
	AgentID      *string      `json:"agent_id"`
	TeamID       *string      `json:"team_id"`
	WorkflowID   *string      `json:"workflow_id"`
	UserID       *string      `json:"user_id"` // session owner
	ParentRunID  *string      `json:"parent_run_id"`
	Status       string       `json:"status"` // PENDING, RUNNING, COMPLETED, ERROR, CANCELLED
	RunIndex     int          `json:"run_index"`
	RunData      RunData      `json:"run_data"`
	CreatedAt    int64        `json:"created_at"`
	UpdatedAt    int64        `json:"updated_at"`
	TaskID       string       `json:"task_id"`
	Attempt      int          `json:"attempt"`
	StartedBy    *string      `json:"started_by"`
	ExecutorType string       `json:"executor_type"`
	ExecutorID   string       `json:"executor_id"`
	Checkout     *RunCheckout `json:"checkout"` // sandboxed runs
	Ended        *task.Ended  `json:"ended"`
	Usage        *task.Usage  `json:"usage"`
	Patch        *RunPatch    `json:"patch"`
	Transcript   *RunObject   `json:"transcript"`
	Sandbox      *RunSandbox  `json:"sandbox"` // once launched
	Waiting      *RunWaiting  `json:"waiting"` // while it waits
}

// RunData is the contract's inner document of a run.
type RunData struct {
	Input       *RunInput `json:"input,omitempty"`
	RunID       string    `json:"run_id"`
	SessionID   string    `json:"session_id"`
	Status      string    `json:"status"`
	Content     *string   `json:"content,omitempty"` // once it ended
	ContentType string    `json:"content_type"`
	UserID      *string   `json:"user_id"`
	AgentID     string    `json:"agent_id,omitempty"`
	TeamID      string    `json:"team_id,omitempty"`
	WorkflowID  string    `json:"workflow_id,omitempty"`
	Metadata    RunMeta   `json:"metadata"`
	CreatedAt   int64     `json:"created_at"`
	Truncated   bool      `json:"truncated,omitzero"` // the content is cut; GET the run for all of it
	*WorkflowMedia
}

// RunInput is what the executor was given.
type RunInput struct {
	InputContent string `json:"input_content"`
}

// RunMeta holds what was asked of a sandbox and what it reported before the agent started.
type RunMeta struct {
	Repository *RequestedCommit `json:"repository,omitempty"`
	Sandbox    *ReportedSandbox `json:"sandbox,omitempty"`
}

// RequestedCommit is the pin that was sent.
type RequestedCommit struct {
	Commit string `json:"commit"`
}

// ReportedSandbox is the pin that was reported.
type ReportedSandbox struct {
	Repository Repository `json:"repository"`
}

// Repository is a checked-out commit.
type Repository struct {
	URL    string `json:"url"`
	Branch string `json:"branch"`
	Commit string `json:"commit"`
}

// WorkflowMedia are the contract's lists of a workflow's run; ours are always empty.
type WorkflowMedia struct {
	Audio  []string `json:"audio"`
	Files  []string `json:"files"`
	Images []string `json:"images"`
	Videos []string `json:"videos"`
}

// RunCheckout is what a run was asked to check out, and the commit once it is there.
type RunCheckout struct {
	URL       string  `json:"url"`
	Branch    string  `json:"branch"`
	Commit    *string `json:"commit"`
	Requested *string `json:"requested"` // null on a first attempt
}

// RunPatch is the latest snapshot of a run's changes.
type RunPatch struct {
	SHA256   string `json:"sha256"`
	Size     int64  `json:"size"`
	Files    int    `json:"files"`
	TakenAt  *int64 `json:"taken_at"`
	Redacted bool   `json:"redacted,omitzero"` // a secret was taken out: it is not put back in a later attempt
}

// RunObject is a stored object of a run.
type RunObject struct {
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size"`
}

// RunSandbox describes the sandbox of a run.
type RunSandbox struct {
	Launch         int    `json:"launch"`
	Image          string `json:"image,omitempty"`
	HarnessVersion string `json:"harness_version,omitempty"`
	Lock           string `json:"lock,omitempty"`
	StartedAt      *int64 `json:"started_at"`
	StoppedAt      *int64 `json:"stopped_at"`
}

// RunWaiting says what a run waits for.
type RunWaiting struct {
	Reason   string `json:"reason"` // slot, capacity, throttled, provider_limit
	Since    *int64 `json:"since"`
	Position *int   `json:"position"` // among the runs that wait, from 1; null when unknown
}

// Started is the answer to the start of an attempt.
type Started struct {
	RunID     string `json:"run_id"`
	SessionID string `json:"session_id"`
	Status    string `json:"status"`
}

// NewListedRun builds a run's record for a list, with its content cut.
func NewListedRun(r task.Run) Run {
	out := NewRun(r, "")
	if c := out.RunData.Content; c != nil && len(*c) > listedContent {
		out.RunData.Content, out.RunData.Truncated = ptr(cut(*c, listedContent)), true
	}
	return out
}

// NewRun builds a run's record; input is what the executor was given, empty to leave it out.
func NewRun(r task.Run, input string) Run {
	out := Run{
		RunID: r.ID, SessionID: r.SessionID, RunType: string(r.ExecutorType), UserID: r.UserID, Status: r.State.Public(),
		RunIndex: r.Attempt - 1, CreatedAt: r.CreatedAt.Unix(), UpdatedAt: r.CreatedAt.Unix(), TaskID: r.TaskID, Attempt: r.Attempt,
		StartedBy: r.StartedBy, ExecutorType: string(r.ExecutorType), ExecutorID: r.ExecutorID, Ended: r.Ended, Usage: r.Usage,
	}
	if r.UpdatedAt != nil {
		out.UpdatedAt = r.UpdatedAt.Unix()
	}
	out.RunData = RunData{
		RunID: r.ID, SessionID: r.SessionID, Status: out.Status, ContentType: "str", UserID: r.UserID, CreatedAt: out.CreatedAt,
	}
	if r.ContentType != "" {
		out.RunData.ContentType = r.ContentType
	}
	if input != "" {
		out.RunData.Input = &RunInput{InputContent: input}
	}
	if r.State.Terminal() {
		out.RunData.Content = &r.Content
	}
	out.executor(r)
	out.checkout(r)
	out.artifacts(r.Artifacts)
	if r.WaitingReason != "" && !r.State.Terminal() {
		out.Waiting = &RunWaiting{Reason: r.WaitingReason, Since: seconds(r.WaitingSince)}
	}
	return out
}

func (out *Run) executor(r task.Run) {
	switch r.ExecutorType {
	case task.ExecutorAgent:
		out.AgentID, out.RunData.AgentID = &r.ExecutorID, r.ExecutorID
	case task.ExecutorTeam:
		out.TeamID, out.RunData.TeamID = &r.ExecutorID, r.ExecutorID
	case task.ExecutorWorkflow:
		out.WorkflowID, out.RunData.WorkflowID = &r.ExecutorID, r.ExecutorID
		out.RunData.WorkflowMedia = &WorkflowMedia{Audio: []string{}, Files: []string{}, Images: []string{}, Videos: []string{}}
	}
}

func (out *Run) checkout(r task.Run) {
	if !r.Sandboxed {
		return
	}
	c := r.Checkout
	out.Checkout = &RunCheckout{URL: c.URL, Branch: c.Branch, Commit: notEmpty(c.Commit), Requested: notEmpty(c.Requested)}
	if c.Requested != "" {
		out.RunData.Metadata.Repository = &RequestedCommit{Commit: c.Requested}
	}
	if c.Commit != "" {
		out.RunData.Metadata.Sandbox = &ReportedSandbox{Repository{URL: c.URL, Branch: c.Branch, Commit: c.Commit}}
	}
	if r.Launch > 0 {
		out.Sandbox = newRunSandbox(r)
	}
}

func newRunSandbox(r task.Run) *RunSandbox {
	s := &RunSandbox{Launch: r.Launch, StartedAt: seconds(r.ClaimedAt), StoppedAt: seconds(r.StoppedAt)}
	if r.SandboxInfo != nil {
		s.Image, s.HarnessVersion, s.Lock = r.SandboxInfo.Image, r.SandboxInfo.HarnessVersion, r.SandboxInfo.Lock
	}
	return s
}

// artifacts shows the newest patch and transcript; later ones come later in the list.
func (out *Run) artifacts(all []task.Artifact) {
	for _, a := range all {
		switch ArtifactKind(a.Kind) {
		case ArtifactPatch:
			out.Patch = &RunPatch{SHA256: a.SHA256, Size: a.Size, Files: a.Files, Redacted: a.Redacted}
			if a.TakenAt > 0 {
				out.Patch.TakenAt = ptr(a.TakenAt)
			}
		case ArtifactTranscript:
			out.Transcript = &RunObject{SHA256: a.SHA256, Size: a.Size}
		case ArtifactResult, ArtifactLog:
		}
	}
}

func notEmpty(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// cut shortens text to at most n bytes, between characters.
func cut(s string, n int) string {
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
