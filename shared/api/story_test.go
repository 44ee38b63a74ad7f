package api_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"companyos/shared/company"
	"companyos/shared/task"
	"companyos/shared/wire"
)

const (
	commitA = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	commitB = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
)

func (c *office) client(subject string) *wire.Client {
	return wire.NewClient(c.server.URL, token(c.t, subject, everything), nil)
}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func refused(t *testing.T, err error, status int, detail, code string) {
	t.Helper()
	p, ok := errors.AsType[*wire.Problem](err)
	if !ok || p.Status != status || p.Detail != detail || (code != "" && p.Code != code) || p.RequestID == "" {
		t.Errorf("got %v, want %d %s %s", err, status, detail, code)
	}
}

// launch gets a run its sandbox and claims it.
func (c *office) launch(ctx context.Context, runID, instance string) (*wire.SandboxClient, wire.ClaimResponse) {
	c.t.Helper()
	if err := c.app.Advance(ctx, runID); err != nil {
		c.t.Fatal(err)
	}
	s := wire.NewSandboxClient(c.server.URL, nil)
	return s, must[wire.ClaimResponse](c.t)(s.Claim(ctx, c.sandboxes.token(c.t, runID), wire.ClaimRequest{Instance: instance}))
}

// report uploads a result and reports it.
func report(ctx context.Context, s *wire.SandboxClient, kind task.EndKind, content string) error {
	raw, err := json.Marshal(wire.ResultFile{Kind: kind, Content: content, Usage: &task.Usage{InputTokens: 7, OutputTokens: 3}})
	if err != nil {
		return err
	}
	sum := sha256.Sum256(raw)
	hash := hex.EncodeToString(sum[:])
	put, err := s.Artifact(ctx, wire.ArtifactRequest{Kind: wire.ArtifactResult, SHA256: hash, Size: int64(len(raw))})
	if err != nil {
		return err
	}
	if _, err := s.Result(ctx, wire.ResultRequest{SHA256: hash}); !errors.Is(err, wire.ErrArtifactMissing) {
		return errors.Join(errors.New("a result that was not uploaded is taken"), err)
	}
	if err := s.Upload(ctx, put.PutURL, bytes.NewReader(raw), int64(len(raw))); err != nil {
		return err
	}
	for range 2 { // the same report again gets the same answer
		if out, err := s.Result(ctx, wire.ResultRequest{SHA256: hash}); err != nil || !out.Accepted {
			return errors.Join(errors.New("the result is not taken"), err)
		}
	}
	return nil
}

// TestAttempts is the main job over HTTP: acceptance, a first attempt that pins, a revision with a reason on the pin, and
// one that reports another commit and ends before its agent starts.
func TestAttempts(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c := setup(t)
	alice, bob := c.client("alice"), c.client("bob")
	product := must[wire.Product](t)(alice.CreateProduct(ctx, wire.ProductCreate{Name: "Widget"}))
	project := must[wire.Project](t)(alice.CreateProject(ctx, wire.ProjectCreate{ProductID: product.ID, Name: "Launch"}))
	tk := must[wire.Task](t)(alice.CreateTask(ctx, wire.TaskCreate{ProductID: product.ID, ProjectID: project.ID, Title: "First line", Brief: new("Read the README")}))
	agent, id := task.ExecutorAgent, "engineer"
	accept := wire.TaskTransition{Target: task.StatusReady, Reason: "go", ExecutorType: &agent, ExecutorID: &id}

	_, err := alice.MoveTask(ctx, tk.ID, accept)
	refused(t, err, 409, "Sandboxed executor requires a Product git Source matching repository URL "+repository, "")
	must[wire.SourceRecord](t)(alice.CreateSource(ctx, wire.SourceCreate{ProductID: product.ID, Source: wire.Source{Type: company.SourceGit, Reference: repository}}))
	ready := must[wire.Task](t)(alice.MoveTask(ctx, tk.ID, accept))
	if ready.Status != task.StatusReady || !ready.Sandboxed || *ready.AcceptedBy != "alice" {
		t.Fatalf("accepted: %+v", ready)
	}

	first := must[wire.Started](t)(alice.StartRun(ctx, tk.ID, wire.TaskRunCreate{}))
	if again := must[wire.Started](t)(bob.StartRun(ctx, tk.ID, wire.TaskRunCreate{Attempt: 1})); again != first || first.Status != "PENDING" {
		t.Errorf("started %+v, repeated %+v", first, again)
	}
	s, claimed := c.launch(ctx, first.RunID, "one")
	if w := claimed.Work; w.Repository.Commit != nil || w.Repository.URL != repository || w.Attempt != 1 || w.SessionID != first.SessionID || w.Limits.Run.Duration() != 30*time.Minute {
		t.Errorf("work: %+v", w)
	}
	input := must[[]byte](t)(s.Download(ctx, claimed.Work.InputURL, 1<<20))
	if !bytes.Contains(input, []byte("Read the README")) {
		t.Errorf("input: %s", input)
	}
	_, err = wire.NewSandboxClient(c.server.URL, nil).Claim(ctx, c.sandboxes.token(t, first.RunID), wire.ClaimRequest{Instance: "two"})
	if !errors.Is(err, wire.ErrFenced) && !errors.Is(err, wire.ErrTokenRefused) {
		t.Errorf("a second instance: %v", err)
	}
	if out, err := s.Prepared(ctx, wire.PreparedRequest{URL: repository, Branch: "main", Commit: commitA}); err != nil || !out.Go {
		t.Fatalf("prepared: %+v, %v", out, err)
	}
	batch := wire.EventsRequest{N: 1, Events: []wire.Event{
		{At: time.Now().Unix(), Type: wire.EventStarted, HarnessVersion: "fixture 1", Lock: "netlock"},
		{At: time.Now().Unix(), Type: wire.EventMessage, Text: "a\x00b"},
	}}
	for range 2 {
		if out, err := s.Events(ctx, batch); err != nil || out.Cancel {
			t.Errorf("events: %+v, %v", out, err)
		}
	}
	if err := report(ctx, s, task.EndCompleted, "# Hello"); err != nil {
		t.Fatal(err)
	}
	pinned := must[wire.Task](t)(bob.Task(ctx, tk.ID))
	if pinned.Status != task.StatusInReview || pinned.Result.Content != "# Hello" || pinned.Metadata.Checkout.Commit != commitA {
		t.Fatalf("reviewed: %+v", pinned)
	}
	run := must[wire.Run](t)(bob.Run(ctx, first.RunID))
	if run.Status != "COMPLETED" || *run.RunData.Content != "# Hello" || run.RunData.Metadata.Sandbox.Repository.Commit != commitA ||
		run.Usage.InputTokens != 7 || run.Sandbox.HarnessVersion != "fixture 1" || *run.StartedBy != "alice" || *run.AgentID != id ||
		run.RunData.Input == nil || run.RunData.Input.InputContent != string(input) {
		t.Errorf("the run: %+v", run)
	}
	if err := c.sandboxes.Stop(ctx, handle(first.RunID, 1), "done"); err != nil {
		t.Fatal(err)
	}
	if err := c.app.Advance(ctx, first.RunID); err != nil {
		t.Fatal(err)
	}

	_, err = bob.StartRun(ctx, tk.ID, wire.TaskRunCreate{Attempt: 2, Reason: new("shorter"), ResultSHA256: new(strings.Repeat("0", 64))})
	refused(t, err, 409, "The result was changed since it was reviewed", "result_changed")
	second := must[wire.Started](t)(bob.StartRun(ctx, tk.ID, wire.TaskRunCreate{Attempt: 2, Reason: new("shorter"), ResultSHA256: &pinned.Result.SHA256}))
	s, claimed = c.launch(ctx, second.RunID, "three")
	if w := claimed.Work; w.Repository.Commit == nil || *w.Repository.Commit != commitA || w.SessionID != first.SessionID {
		t.Errorf("work of the revision: %+v", w)
	}
	if input := must[[]byte](t)(s.Download(ctx, claimed.Work.InputURL, 1<<20)); !bytes.Contains(input, []byte("shorter")) {
		t.Errorf("the reviewer's words are missing: %s", input)
	}
	_, err = s.Prepared(ctx, wire.PreparedRequest{URL: repository, Branch: "main", Commit: commitB})
	if !errors.Is(err, wire.ErrPinMismatch) {
		t.Errorf("another commit: %v", err)
	}
	failed := must[wire.Task](t)(alice.Task(ctx, tk.ID))
	if failed.Status != task.StatusInProgress || failed.Result.Status != task.ResultError ||
		failed.Result.Content != "Sandboxed run repository pin does not match the Task checkout" || failed.Metadata.Checkout.Commit != commitA {
		t.Errorf("after another commit: %+v", failed)
	}
	var starters []string
	for _, e := range failed.Transitions {
		if e.StartedBy.Set {
			starters = append(starters, e.StartedBy.V)
		}
	}
	if !slices.Equal(starters, []string{"alice", "bob"}) || *failed.UserID != "alice" {
		t.Errorf("started by %v", starters)
	}
	runs := must[wire.Page[wire.Run]](t)(alice.Runs(ctx, tk.ID, wire.List{}))
	if runs.Meta.TotalCount != 2 || runs.Data[0].RunID != first.RunID || runs.Data[1].Status != "ERROR" || runs.Data[1].Ended.Kind != task.EndPinMismatch {
		t.Errorf("runs: %+v", runs)
	}
	counts := must[wire.Attention](t)(alice.Attention(ctx, product.ID))
	if counts.Failed != 1 || counts.InReview != 0 {
		t.Errorf("attention: %+v", counts)
	}
	if strings.Contains(string(c.want(200, "GET", "/company/tasks/"+tk.ID, nil).raw), "principal_id") {
		t.Error("an answer shows saved rights")
	}
}

// TestSandboxTokens: a session token is good for its own run and for the sandbox's routes, while the run lasts.
func TestSandboxTokens(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c := setup(t)
	alice := c.client("alice")
	product, _, taskID := c.task()
	must[wire.SourceRecord](t)(alice.CreateSource(ctx, wire.SourceCreate{ProductID: product, Source: wire.Source{Type: company.SourceGit, Reference: repository}}))
	agent, id := task.ExecutorAgent, "engineer"
	must[wire.Task](t)(alice.MoveTask(ctx, taskID, wire.TaskTransition{Target: task.StatusReady, Reason: "go", ExecutorType: &agent, ExecutorID: &id}))
	started := must[wire.Started](t)(alice.StartRun(ctx, taskID, wire.TaskRunCreate{}))
	s, claimed := c.launch(ctx, started.RunID, "one")
	launchToken := c.sandboxes.token(t, started.RunID)
	tampered := claimed.Session[:len(claimed.Session)-4] + "AAAA"
	otherRun := strings.Replace(claimed.Session, started.RunID, "0b0e7a3c-6a7e-4f0e-9d0b-6f1d3f0a2b11", 1)
	for _, refusedCase := range []struct{ path, bearer, body string }{
		{"/sandbox/claim", claimed.Session, `{"instance":"one"}`},
		{"/sandbox/events", launchToken, `{"n":1,"events":[]}`},
		{"/sandbox/events", tampered, `{"n":1,"events":[]}`},
		{"/sandbox/events", otherRun, `{"n":1,"events":[]}`},
		{"/sandbox/result", tampered, `{"sha256":"` + strings.Repeat("0", 64) + `"}`},
	} {
		if a := c.send("POST", refusedCase.path, "Bearer "+refusedCase.bearer, refusedCase.body); a.status != 401 {
			t.Errorf("%s with %.10s…: %d %s", refusedCase.path, refusedCase.bearer, a.status, a.raw)
		}
	}
	if a := c.send("GET", "/company/tasks/"+taskID, "Bearer "+claimed.Session, nil); a.status != 401 {
		t.Errorf("a session token reads a Task: %d", a.status)
	}
	if err := alice.CancelRun(ctx, started.RunID); err != nil {
		t.Fatal(err)
	}
	if out, err := s.Events(ctx, wire.EventsRequest{N: 1}); err != nil || !out.Cancel {
		t.Errorf("after a cancel: %+v, %v", out, err)
	}
	if _, err := s.Prepared(ctx, wire.PreparedRequest{URL: repository, Branch: "main", Commit: commitA}); !errors.Is(err, wire.ErrCancelled) {
		t.Errorf("prepared after a cancel: %v", err)
	}
	if strings.Contains(c.log.String(), claimed.Session) || strings.Contains(c.log.String(), launchToken) {
		t.Error("the log holds a token")
	}
}
