package apptest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"

	"companyos/shared/app"
	"companyos/shared/store"
	"companyos/shared/task"
)

// Commit is what a Supervisor checks out unless it is told otherwise.
const Commit = "7fd1a60b01f91b314f59955a4e4d4e80d8edf11d"

// Supervisor plays the process in one sandbox, step by step, over the sandbox's API.
type Supervisor struct {
	Bench    *Bench
	Box      *Box
	Instance string
	Commit   string // what it reports to have checked out
	Branch   string
	Kind     task.EndKind // of its result
	Content  string
	NoPatch  bool // the agent changed nothing, or took it back

	Work      app.Work
	session   string
	ResultSHA string
	batches   int
}

// Supervise returns the supervisor of a sandbox.
func (b *Bench) Supervise(box *Box) *Supervisor {
	return &Supervisor{
		Bench: b, Box: box, Instance: "instance of " + box.Handle, Commit: Commit, Branch: Branch, Kind: task.EndCompleted, Content: "Hello World!",
	}
}

// Claim claims the launch.
func (s *Supervisor) Claim(ctx context.Context) error {
	claimed, err := s.Bench.Claim(ctx, s.Box.Spec.Token, s.Instance)
	if err == nil {
		s.session, s.Work = claimed.Session, claimed.Work
		if s.Work.Commit != "" && s.Commit == Commit {
			s.Commit = s.Work.Commit
		}
	}
	return err
}

// Session is the session token.
func (s *Supervisor) Session() string { return s.session }

// Prepare reports the checkout.
func (s *Supervisor) Prepare(ctx context.Context) error {
	return s.Bench.Prepared(ctx, s.session, task.RunCheckout{URL: Repository, Branch: s.Branch, Commit: s.Commit}, nil)
}

// Say sends a batch with one message, or asks whether to end.
func (s *Supervisor) Say(ctx context.Context, text string) (cancel bool, err error) {
	body, err := json.Marshal(map[string]string{"text": text})
	if err != nil {
		return false, err
	}
	cancel, err = s.Bench.Events(ctx, s.session, s.batches+1, []store.Event{{At: s.Bench.Clock.Now(), Type: "message", Body: body}})
	if err == nil {
		s.batches++
	}
	return cancel, err
}

// Save uploads what the agent has changed so far.
func (s *Supervisor) Save(ctx context.Context, patch string) (sha string, err error) {
	return s.put(ctx, task.ArtifactPatch, []byte(patch))
}

// Upload announces and uploads the patch and the result.
func (s *Supervisor) Upload(ctx context.Context) error {
	report := map[string]any{"kind": s.Kind, "content": s.Content}
	if !s.NoPatch {
		patch := "diff of attempt " + strconv.Itoa(s.Work.Attempt) + " launch " + strconv.Itoa(s.Work.Launch)
		sha, err := s.Save(ctx, patch)
		if err != nil {
			return err
		}
		report["patch"] = map[string]any{"sha256": sha, "size": len(patch), "files": 1}
	}
	result, err := json.Marshal(report)
	if err != nil {
		return err
	}
	s.ResultSHA, err = s.put(ctx, task.ArtifactResult, result)
	return err
}

func (s *Supervisor) put(ctx context.Context, kind string, content []byte) (string, error) {
	sum := sha256.Sum256(content)
	sha := hex.EncodeToString(sum[:])
	url, err := s.Bench.Artifact(ctx, s.session, kind, sha, int64(len(content)))
	if err != nil {
		return "", err
	}
	return sha, s.Bench.Blobs.Put(ctx, Key(url), bytes.NewReader(content), int64(len(content)))
}

// Report reports the result.
func (s *Supervisor) Report(ctx context.Context) error {
	return s.Bench.Result(ctx, s.session, s.ResultSHA)
}

// Finish goes all the way: claim, checkout, result, exit.
func (s *Supervisor) Finish(ctx context.Context) error {
	for _, step := range []func(context.Context) error{s.Claim, s.Prepare, s.Upload, s.Report} {
		if err := step(ctx); err != nil {
			s.Bench.Fleet.End(s.Box, "")
			return err
		}
	}
	s.Bench.Fleet.End(s.Box, "")
	return nil
}
