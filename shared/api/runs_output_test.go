package api_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"testing"
	"time"

	"companyos/shared/company"
	"companyos/shared/task"
	"companyos/shared/wire"
)

// accepted is a Task that the sandboxed agent may start on.
func (c *office) accepted(ctx context.Context, alice *wire.Client) wire.Task {
	t := c.t
	product := must[wire.Product](t)(alice.CreateProduct(ctx, wire.ProductCreate{Name: "Widget"}))
	project := must[wire.Project](t)(alice.CreateProject(ctx, wire.ProjectCreate{ProductID: product.ID, Name: "Launch"}))
	must[wire.SourceRecord](t)(alice.CreateSource(ctx, wire.SourceCreate{ProductID: product.ID, Source: wire.Source{Type: company.SourceGit, Reference: repository}}))
	tk := must[wire.Task](t)(alice.CreateTask(ctx, wire.TaskCreate{ProductID: product.ID, ProjectID: project.ID, Title: "Change it", Brief: new("Change it")}))
	agent, id := task.ExecutorAgent, "engineer"
	return must[wire.Task](t)(alice.MoveTask(ctx, tk.ID, wire.TaskTransition{Target: task.StatusReady, Reason: "go", ExecutorType: &agent, ExecutorID: &id}))
}

// upload announces and uploads an object.
func upload(t *testing.T, s *wire.SandboxClient, kind wire.ArtifactKind, content string) string {
	t.Helper()
	sum := sha256.Sum256([]byte(content))
	hash := hex.EncodeToString(sum[:])
	put := must[wire.ArtifactResponse](t)(s.Artifact(t.Context(), wire.ArtifactRequest{Kind: kind, SHA256: hash, Size: int64(len(content))}))
	if err := s.Upload(t.Context(), put.PutURL, strings.NewReader(content), int64(len(content))); err != nil {
		t.Fatal(err)
	}
	return hash
}

// TestRunOutput: while a run goes on, its events can be awaited and its saved changes be read, with their age; the newest
// of them that was announced and never arrived is passed over.
func TestRunOutput(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c := setup(t)
	alice := c.client("alice")
	tk := c.accepted(ctx, alice)
	started := must[wire.Started](t)(alice.StartRun(ctx, tk.ID, wire.TaskRunCreate{}))
	if _, err := alice.RunPatch(ctx, started.RunID); err == nil {
		t.Error("a run that has not begun has changes")
	}
	s, _ := c.launch(ctx, started.RunID, "one")
	must[wire.PreparedResponse](t)(s.Prepared(ctx, wire.PreparedRequest{URL: repository, Branch: "main", Commit: commitA}))
	seen := must[wire.RunEvents](t)(alice.RunEvents(ctx, started.RunID, 0, 0))
	if len(seen.Data) == 0 || seen.Terminal || seen.Next != seen.Data[len(seen.Data)-1].Seq {
		t.Fatalf("events %+v", seen)
	}

	awaited := make(chan wire.RunEvents, 1)
	go func() {
		next, err := alice.RunEvents(ctx, started.RunID, seen.Next, 20)
		if err != nil {
			t.Error(err)
		}
		awaited <- next
	}()
	first := upload(t, s, wire.ArtifactPatch, "diff --git a/x b/x\n")
	at := time.Now().Unix() - 7
	must[wire.EventsResponse](t)(s.Events(ctx, wire.EventsRequest{N: 1, Events: []wire.Event{{At: at, Type: wire.EventPatched, SHA256: first, Size: 19, Files: 1}}}))
	next := <-awaited
	if len(next.Data) != 1 || next.Data[0].Type != wire.EventPatched || next.Data[0].SHA256 != first || next.Data[0].Seq != seen.Next+1 || next.Next != next.Data[0].Seq {
		t.Errorf("awaited %+v", next)
	}
	must[wire.ArtifactResponse](t)(s.Artifact(ctx, wire.ArtifactRequest{Kind: wire.ArtifactPatch, SHA256: strings.Repeat("0", 64), Size: 1}))
	if patch := must[[]byte](t)(alice.RunPatch(ctx, started.RunID)); string(patch) != "diff --git a/x b/x\n" {
		t.Errorf("patch %q", patch)
	}
	if _, err := alice.RunLog(ctx, started.RunID); err == nil {
		t.Error("there is a log")
	} else {
		refused(t, err, 404, "The run has no log", "run_log_missing")
	}
	upload(t, s, wire.ArtifactLog, "<script>alert(1)</script>")
	if log := must[[]byte](t)(alice.RunLog(ctx, started.RunID)); string(log) != "<script>alert(1)</script>" {
		t.Errorf("log %q", log)
	}
	c.headers(t, "/company/runs/"+started.RunID+"/patch", first)

	if run := must[wire.Run](t)(alice.Run(ctx, started.RunID)); run.Patch == nil || run.Status != "RUNNING" {
		t.Errorf("run %+v", run)
	}
	if err := report(ctx, s, task.EndCompleted, "done"); err != nil {
		t.Fatal(err)
	}
	if last := must[wire.RunEvents](t)(alice.RunEvents(ctx, started.RunID, next.Next, 20)); !last.Terminal {
		t.Errorf("after the end %+v", last)
	}
	if _, err := alice.RunEvents(ctx, "nobody", 0, 0); err == nil {
		t.Error("a run that does not exist has events")
	}
	if _, err := c.client("bob").RunEvents(ctx, started.RunID, 0, 21); err == nil {
		t.Error("a wait of 21 s is taken")
	}
}

// headers: an object of somebody else's is a file to a browser, and has a tag.
func (c *office) headers(t *testing.T, path, hash string) {
	t.Helper()
	get := func(tag string) (*http.Response, []byte) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.server.URL+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token(t, "alice", everything))
		req.Header.Set("If-None-Match", tag)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		var body bytes.Buffer
		_, _ = body.ReadFrom(res.Body)
		return res, body.Bytes()
	}
	res, _ := get("")
	h := res.Header
	if h.Get("Content-Type") != "text/x-diff" || h.Get("Etag") != `"`+hash+`"` || h.Get("X-Content-Type-Options") != "nosniff" || !strings.HasPrefix(h.Get("Content-Disposition"), "attachment") {
		t.Errorf("headers %v", h)
	}
	if res, body := get(`"` + hash + `"`); res.StatusCode != http.StatusNotModified || len(body) != 0 {
		t.Errorf("again: %d %q", res.StatusCode, body)
	}
}

// TestSessionRetired: a conversation that could not be continued twice in a row is not handed out again.
func TestSessionRetired(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c := setup(t)
	alice := c.client("alice")
	tk := c.accepted(ctx, alice)
	for attempt, want := range []struct {
		session bool
		lost    bool
	}{{false, false}, {true, true}, {true, false}, {true, true}, {true, true}, {false, true}} {
		started := must[wire.Started](t)(alice.StartRun(ctx, tk.ID, wire.TaskRunCreate{Attempt: attempt + 1}))
		s, claimed := c.launch(ctx, started.RunID, "one")
		if got := claimed.Work.Session != nil; got != want.session {
			t.Errorf("attempt %d has a conversation: %t", attempt+1, got)
		}
		must[wire.PreparedResponse](t)(s.Prepared(ctx, wire.PreparedRequest{URL: repository, Branch: "main", Commit: commitA}))
		if want.lost {
			must[wire.EventsResponse](t)(s.Events(ctx, wire.EventsRequest{N: 1, Events: []wire.Event{{At: 1, Type: wire.EventWarning, Text: "lost", Session: wire.SessionLost}}}))
		}
		kind := task.EndFailed
		var transcript *wire.ResultArtifact
		if attempt == 0 {
			kind, transcript = task.EndCompleted, &wire.ResultArtifact{SHA256: upload(t, s, wire.ArtifactTranscript, "{}\n"), Size: 3}
		}
		file := string(must[[]byte](t)(wire.Marshal(wire.ResultFile{Kind: kind, Content: "x", Transcript: transcript})))
		must[wire.ResultResponse](t)(s.Result(ctx, wire.ResultRequest{SHA256: upload(t, s, wire.ArtifactResult, file)}))
		if err := c.sandboxes.Stop(ctx, handle(started.RunID, 1), "done"); err != nil {
			t.Fatal(err)
		}
		if err := c.app.Advance(ctx, started.RunID); err != nil { // gives the slot back
			t.Fatal(err)
		}
	}
}
