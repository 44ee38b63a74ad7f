package app

import (
	"context"
	"errors"
	"net/http"
	"time"

	"companyos/shared/executor"
	"companyos/shared/task"
)

// Claimed is what the first instance that claims a launch gets. It holds secrets.
type Claimed struct {
	Session   string // the session token
	ExpiresAt time.Time
	Secrets   map[string]string
	Work      Work
}

// Work is one launch of one attempt, as its supervisor needs it.
type Work struct {
	RunID        string
	Launch       int
	TaskID       string
	SessionID    string
	Attempt      int
	Deadline     time.Time // nothing is reported after it
	Repository   executor.Repository
	Commit       string // the pin, empty on a first attempt
	Harness      executor.Harness
	Model        string
	Instructions string
	InputURL     string
	Transcript   *Object // of the last completed attempt, if this executor made it
	Patch        *Object // of the last completed attempt
	Limits       executor.Limits
	Egress       []string
	Company      bool            // the agent gets the Company's tools
	Price        *executor.Price // of the model; nil: unknown
}

// Object is something to download.
type Object struct {
	URL    string
	SHA256 string
}

// reportMargin is how long after the supervisor's own limits a run waits for its report.
const reportMargin = time.Minute

// Claim gives a launch to the first instance that asks with its token: the work, the secrets and a session token. The
// same instance may ask again and gets the same with a fresh session token. KindUnauthorized for a token that is not the
// launch's, KindConflict "fenced" for another instance, a launch that is over, or a run that is being cancelled.
func (c *Company) Claim(ctx context.Context, token, instance string) (Claimed, error) {
	tok, ok := task.ParseToken(token)
	if !ok || tok.Kind != task.TokenLaunch {
		return Claimed{}, errToken
	}
	session := task.MakeToken(task.TokenSession, tok.RunID, tok.Launch, newSecret())
	var refused error
	run, err := c.change(ctx, tok.RunID, func(_ context.Context, v *view) (task.Run, error) {
		var after task.Run
		after, refused = c.claim(v, tok, instance, session)
		return after, nil
	})
	if err != nil {
		return Claimed{}, unknownRun(err)
	}
	if refused != nil {
		return Claimed{}, refused
	}
	return c.claimed(ctx, &run, session)
}

// unready ends a run whose executor has not what only its operator can give, and fences whoever claimed it.
func (c *Company) unready(ctx context.Context, runID string, missing *executor.RuleError) error {
	_, err := c.change(ctx, runID, func(_ context.Context, v *view) (task.Run, error) {
		after, _ := task.Unready(v.run, missing.Detail+". "+missing.Remedy, v.now)
		return after, nil
	})
	if err != nil {
		return err
	}
	return errFenced
}

func (c *Company) claim(v *view, tok task.Token, instance, session string) (task.Run, error) {
	if tok.Launch < v.run.Launch {
		return v.run, errFenced
	}
	if tok.Launch != v.run.Launch || !v.run.Launches(tok.Hash) {
		return v.run, errToken
	}
	ex, known := c.Executors.Registry().Lookup(v.run.ExecutorType, v.run.ExecutorID)
	if !known || !ex.Sandboxed() {
		after, _ := task.Revoke(v.run, task.ReasonRevoked, v.now)
		return after, errFenced
	}
	after, answer := v.run.Claim(task.Claim{
		LaunchHash: tok.Hash, Instance: instance, SessionHash: task.HashToken(session),
		RunUntil: v.now.Add(ex.Limits.Prepare + ex.Limits.Run + ex.Limits.CancelGrace + reportMargin),
	}, v.now)
	if answer != task.AnswerTaken && answer != task.AnswerAgain {
		return v.run, errFenced
	}
	return after, nil
}

// claimed collects what a claimed run's supervisor gets.
func (c *Company) claimed(ctx context.Context, r *task.Run, session string) (out Claimed, err error) {
	ex, known := c.Executors.Registry().Lookup(r.ExecutorType, r.ExecutorID)
	if !known || !ex.Sandboxed() {
		return out, errFenced
	}
	out = Claimed{Session: session, ExpiresAt: *r.RunUntil, Work: Work{
		RunID: r.ID, Launch: r.Launch, TaskID: r.TaskID, SessionID: r.SessionID, Attempt: r.Attempt, Deadline: *r.RunUntil,
		Repository: executor.Repository{URL: r.Checkout.URL, Branch: r.Checkout.Branch}, Commit: r.Checkout.Requested,
		Harness: ex.Harness, Model: ex.Model, Instructions: ex.Instructions, Limits: ex.Limits, Egress: ex.Sandbox.Egress, Company: ex.Sandbox.Company, Price: ex.Price,
	}}
	out.Secrets, err = c.Secrets(ctx, ex.Sandbox.Secrets)
	if missing, ok := errors.AsType[*executor.RuleError](err); ok {
		return Claimed{}, c.unready(ctx, r.ID, missing)
	}
	if err != nil {
		return out, task.Unavailable("secrets_unavailable", "The secrets of the executor could not be read", err)
	}
	until := time.Until(*r.RunUntil)
	if out.Work.InputURL, err = c.Blobs.Presign(ctx, r.InputKey, http.MethodGet, until); err != nil {
		return out, missingOr(err)
	}
	previous, ok, err := c.DB.LastCompleted(ctx, r.TaskID, r.Attempt)
	if err != nil || !ok {
		return out, err
	}
	if out.Work.Patch, err = c.object(ctx, previous.Artifact(task.ArtifactPatch), until); err != nil {
		return out, err
	}
	// A conversation belongs to the executor that led it; another one starts afresh on the same commit and patch.
	if previous.ExecutorID != r.ExecutorID || previous.ExecutorType != r.ExecutorType {
		return out, nil
	}
	if retired, err := c.sessionRetired(ctx, &previous, r); err != nil || retired {
		return out, err
	}
	out.Work.Transcript, err = c.object(ctx, previous.Artifact(task.ArtifactTranscript), until)
	return out, err
}

// retireAfter attempts in a row that could not continue a conversation, it is not tried again.
const retireAfter = 2

// sessionRetired says that the conversation of the last completed attempt was put back and could not be continued so often
// since that it is given up.
func (c *Company) sessionRetired(ctx context.Context, previous, r *task.Run) (bool, error) {
	lost := 0
	for attempt := previous.Attempt + 1; attempt < r.Attempt; attempt++ {
		run, err := c.DB.Run(ctx, task.RunID(r.TaskID, attempt))
		if task.KindOf(err) == task.KindNotFound {
			continue
		}
		if err != nil {
			return false, err
		}
		if run.SandboxInfo != nil && run.SandboxInfo.SessionLost {
			lost++
		} else if run.PreparedAt != nil {
			lost = 0
		}
	}
	return lost >= retireAfter, nil
}

// object is an artifact to put back. One in which a secret was blackened is evidence only.
func (c *Company) object(ctx context.Context, a *task.Artifact, ttl time.Duration) (*Object, error) {
	if a == nil || a.Redacted {
		return nil, nil
	}
	url, err := c.Blobs.Presign(ctx, a.Key, http.MethodGet, ttl)
	if err != nil {
		return nil, missingOr(err)
	}
	return &Object{URL: url, SHA256: a.SHA256}, nil
}
