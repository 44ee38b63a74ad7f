package app_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"companyos/shared/app"
	"companyos/shared/app/apptest"
	"companyos/shared/store"
	"companyos/shared/store/storetest"
	"companyos/shared/task"
)

func code(err error) string {
	if e, ok := errors.AsType[*task.Error](err); ok {
		return e.Code
	}
	return ""
}

// working is a bench whose only sandbox has claimed its run and was told to go.
func working(t *testing.T) (*apptest.Bench, *apptest.Supervisor, task.Task, string) {
	t.Helper()
	b, tk, runID := started(t)
	s := b.Supervise(onlyBox(t, b))
	for _, step := range []func(context.Context) error{s.Claim, s.Prepare} {
		if err := step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return b, s, tk, runID
}

func TestAReportTwiceIsOneResult(t *testing.T) {
	t.Parallel()
	b, s, tk, runID := working(t)
	for _, step := range []func(context.Context) error{s.Upload, s.Report} {
		if err := step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	before, taskBefore := b.RunNow(runID), b.TaskNow(tk.ID)
	if err := s.Report(t.Context()); err != nil {
		t.Errorf("the second report: %v", err)
	}
	if after := b.RunNow(runID); !after.UpdatedAt.Equal(*before.UpdatedAt) || b.TaskNow(tk.ID).Revision != taskBefore.Revision {
		t.Error("the second report changed something")
	}
	b.Fleet.End(s.Box, "")
	b.Pass(time.Minute)
	b.Check()
}

func TestAnArtifactStoreThatIsAwayDelaysTheEnd(t *testing.T) {
	t.Parallel()
	b, s, _, runID := working(t)
	if err := s.Upload(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.Fleet.End(s.Box, "")
	b.Handle(b.Attempts, runID)
	b.Blobs.Plan = func(string) apptest.Fault { return apptest.FaultBefore }
	if err := s.Report(t.Context()); task.KindOf(err) != task.KindUnavailable {
		t.Errorf("the report: %v", err)
	}
	b.Pass(10 * time.Minute)
	if run := b.RunNow(runID); run.State != task.StateRunning {
		t.Errorf("run %s although nobody can tell what it did", run.State)
	}
	b.Blobs.Plan = nil
	b.Pass(6 * time.Minute)
	if run := b.RunNow(runID); run.State != task.StateCompleted {
		t.Errorf("run %s", run.State)
	}
	b.Check()
}

func TestABatchTwiceIsStoredOnce(t *testing.T) {
	t.Parallel()
	b, s, _, runID := working(t)
	batch := []store.Event{{At: b.Clock.Now(), Type: "message"}, {At: b.Clock.Now(), Type: "claimed"}}
	for range 3 {
		if end, err := b.Events(t.Context(), s.Session(), 1, batch); err != nil || end {
			t.Errorf("cancel %v, %v", end, err)
		}
	}
	followed, err := b.FollowRun(t.Context(), runID, 0, 100, 0)
	if err != nil {
		t.Fatal(err)
	}
	var types []string
	for _, e := range followed.Events {
		types = append(types, e.Type)
	}
	if got := strings.Join(types, " "); got != "waiting launched claimed prepared message" || followed.Next != 5 || followed.Terminal {
		t.Errorf("events %s, next %d, terminal %v", got, followed.Next, followed.Terminal)
	}
	b.Check()
}

func TestFollowingARunWaitsForWhatComes(t *testing.T) {
	t.Parallel()
	b, s, _, runID := working(t)
	got := make(chan app.Followed, 1)
	go func() {
		followed, err := b.FollowRun(t.Context(), runID, 4, 100, 20*time.Second)
		if err != nil {
			t.Error(err)
		}
		got <- followed
	}()
	if _, err := s.Say(t.Context(), "hello"); err != nil {
		t.Fatal(err)
	}
	if followed := <-got; len(followed.Events) != 1 || followed.Events[0].Seq != 5 {
		t.Errorf("followed %+v", followed)
	}
}

func TestAResultWithoutItsFilesIsRefused(t *testing.T) {
	t.Parallel()
	b, s, _, runID := working(t)
	s.ResultSHA = "aa"
	if err := s.Report(t.Context()); code(err) != "artifact_missing" {
		t.Errorf("a result that was never announced: %v", err)
	}
	sha := task.HashToken("never uploaded")
	if _, err := b.Artifact(t.Context(), s.Session(), task.ArtifactResult, sha, 10); err != nil {
		t.Fatal(err)
	}
	s.ResultSHA = sha
	if err := s.Report(t.Context()); code(err) != "artifact_missing" {
		t.Errorf("a result that was never uploaded: %v", err)
	}
	if run := b.RunNow(runID); run.State != task.StateRunning {
		t.Errorf("run %s", run.State)
	}
	b.Check()
}

func TestAResultThatWasUploadedAndNeverReportedCounts(t *testing.T) {
	t.Parallel()
	b, s, tk, runID := working(t)
	if err := s.Upload(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.Fleet.End(s.Box, "")
	if err := b.Advance(t.Context(), runID); err != nil { // ECS says that it stopped
		t.Fatal(err)
	}
	if run := b.RunNow(runID); run.State != task.StateRunning || run.StoppedAt == nil || len(b.Fleet.Alive()) != 0 {
		t.Fatalf("run %s, stopped %v", run.State, run.StoppedAt)
	}
	b.Check()
	b.Pass(2 * time.Minute)
	run, got := b.RunNow(runID), b.TaskNow(tk.ID)
	if run.State != task.StateCompleted || got.Status != task.StatusInReview || got.Result.Content != "Hello World!" {
		t.Errorf("run %s, Task %s %+v", run.State, got.Status, got.Result)
	}
	if patch := run.Artifact(task.ArtifactPatch); patch == nil || patch.Files != 1 {
		t.Errorf("patch %+v", patch)
	}
	b.Check()
}

// What was saved on the way is no change of a run whose result names none: it is neither shown nor put back, and deleted.
func TestChangesThatWereTakenBack(t *testing.T) {
	t.Parallel()
	b, s, tk, runID := working(t)
	if _, err := s.Save(t.Context(), "a change"); err != nil {
		t.Fatal(err)
	}
	if out, err := b.RunOutput(t.Context(), runID, task.ArtifactPatch); err != nil {
		t.Error(err)
	} else if err := out.Body.Close(); err != nil {
		t.Error(err)
	}
	s.NoPatch = true
	for _, step := range []func(context.Context) error{s.Upload, s.Report} {
		if err := step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	b.Fleet.End(s.Box, "")
	b.Pass(time.Minute)
	if _, err := b.RunOutput(t.Context(), runID, task.ArtifactPatch); code(err) != "run_patch_missing" {
		t.Errorf("patch: %v", err)
	}
	b.Start(tk.ID, 2)
	b.Drain()
	next := b.Supervise(b.Fleet.Alive()[0])
	if err := next.Claim(t.Context()); err != nil || next.Work.Patch != nil {
		t.Errorf("%v, patch %+v", err, next.Work.Patch)
	}
	b.Check()
}

// A run names its newest changes. Older ones are deleted once its sandbox can name them no more.
func TestOldSnapshotsAreDeleted(t *testing.T) {
	t.Parallel()
	b, s, _, runID := working(t)
	d := &deleter{deleted: map[string]bool{}}
	b.Config.Deleter = d
	key := map[string]string{}
	save := func(patch string) {
		t.Helper()
		sha, err := s.Save(t.Context(), patch)
		if err != nil {
			t.Fatal(err)
		}
		run := b.RunNow(runID)
		key[patch] = run.ArtifactKey(task.ArtifactPatch, sha)
	}
	for n := range 18 {
		save(fmt.Sprint("change ", n))
	}
	save("change 1") // again
	clean := func() {
		t.Helper()
		if _, err := b.CleanUp(t.Context(), false); err != nil {
			t.Fatal(err)
		}
	}
	if clean(); len(d.deleted) != 0 {
		t.Errorf("of a run that goes on: %v", d.deleted)
	}
	for _, step := range []func(context.Context) error{s.Upload, s.Report} {
		if err := step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	b.Fleet.End(s.Box, "")
	run := b.RunNow(runID)
	if clean(); len(d.deleted) != 0 {
		t.Errorf("before the last upload must have ended: %v", d.deleted)
	}
	if _, err := b.DB.Pool().Exec(t.Context(), "UPDATE blob_garbage SET created_at = created_at - interval '1 day'"); err != nil {
		t.Fatal(err)
	}
	clean()
	for patch, key := range key {
		if !d.deleted[key] {
			t.Errorf("%s is left", patch)
		}
	}
	if patch := run.Artifact(task.ArtifactPatch); patch == nil || d.deleted[patch.Key] || d.deleted[run.ResultKey] {
		t.Errorf("patch %+v; deleted %v", patch, d.deleted)
	}
}

func TestAReportUnderWayAtTheDeadlineIsNotTakenTwice(t *testing.T) {
	t.Parallel()
	b, s, tk, runID := working(t)
	if err := s.Upload(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.Fleet.End(s.Box, "")
	b.Handle(b.Attempts, runID)
	b.Travel(61 * time.Second)
	b.Blobs.Plan = func(string) apptest.Fault { // advance has read the run and is about to read the announced result
		b.Blobs.Plan = nil
		if err := s.Report(t.Context()); err != nil {
			t.Errorf("the report: %v", err)
		}
		return apptest.FaultNone
	}
	b.Handle(b.Attempts, runID)
	if b.Blobs.Plan != nil {
		t.Error("nobody looked for the announced result")
	}
	run, got := b.RunNow(runID), b.TaskNow(tk.ID)
	if run.State != task.StateCompleted || got.Status != task.StatusInReview || len(got.Transitions) != 3 {
		t.Errorf("run %s, Task %s with %d transitions", run.State, got.Status, len(got.Transitions))
	}
	b.Check()
}

func TestASandboxThatDiesWithoutAWordIsNamed(t *testing.T) {
	t.Parallel()
	for reason, want := range map[task.EndKind]task.EndKind{
		task.EndOutOfMemory: task.EndOutOfMemory, task.EndInterrupted: task.EndInterrupted, "": task.EndLost, "a_new_stop_code": task.EndLost,
	} {
		t.Run(string("stopped by "+reason), func(t *testing.T) {
			t.Parallel()
			b, s, tk, runID := working(t)
			b.Fleet.End(s.Box, reason)
			b.Handle(b.Attempts, runID)
			b.Pass(2 * time.Minute)
			run, got := b.RunNow(runID), b.TaskNow(tk.ID)
			if run.State != task.StateError || run.Ended.Kind != want || got.Status != task.StatusInProgress || got.Result.Status != task.ResultError {
				t.Errorf("run %s %+v, Task %s", run.State, run.Ended, got.Status)
			}
			b.Check()
			if id := b.Start(tk.ID, 2); id == runID {
				t.Error("the next attempt is the old run")
			}
			b.Check()
		})
	}
}

func TestARunThatNeverReportsEndsAtItsLimit(t *testing.T) {
	t.Parallel()
	b, s, _, runID := working(t)
	b.Pass(40 * time.Minute)
	run := b.RunNow(runID)
	if run.State != task.StateError || run.Ended.Kind != task.EndRunTimeout || !s.Box.StopAsked {
		t.Errorf("run %s %+v, told to stop: %v", run.State, run.Ended, s.Box.StopAsked)
	}
	if err := s.Upload(t.Context()); err == nil {
		t.Error("an artifact was taken after the end")
	}
	b.Fleet.End(s.Box, "")
	b.Pass(2 * time.Minute)
	b.Check()
}

func TestAnotherRunsTokenReportsNothing(t *testing.T) {
	t.Parallel()
	b, s, _, runID := working(t)
	other := b.NewTask(task.ExecutorAgent, apptest.Engineer)
	otherRun := b.Start(other.ID, 1)
	b.Drain()
	before := b.RunNow(otherRun)
	forged := task.MakeToken(task.TokenSession, otherRun, 1, s.Session()[len(s.Session())-43:])
	for _, token := range []string{forged, "", "cs1.x.1.y", s.Box.Spec.Token, task.MakeToken(task.TokenSession, task.RunID("nobody", 1), 1, s.Session()[len(s.Session())-43:])} {
		if err := b.Result(t.Context(), token, "aa"); task.KindOf(err) != task.KindUnauthorized {
			t.Errorf("%q: %v", token, err)
		}
		if _, err := b.Events(t.Context(), token, 1, []store.Event{{Type: "message"}}); task.KindOf(err) != task.KindUnauthorized {
			t.Errorf("%q: %v", token, err)
		}
	}
	if after := b.RunNow(otherRun); !after.UpdatedAt.Equal(*before.UpdatedAt) || b.RunNow(runID).State != task.StateRunning {
		t.Error("a forged token changed something")
	}
	b.Check()
}

func TestTheFirstInstanceWinsAndMayAskAgain(t *testing.T) {
	t.Parallel()
	b, _, runID := started(t)
	one, two := b.Supervise(onlyBox(t, b)), b.Supervise(onlyBox(t, b))
	two.Instance = "a second supervisor"
	if err := one.Claim(t.Context()); err != nil {
		t.Fatal(err)
	}
	old := one.Session()
	if err := two.Claim(t.Context()); code(err) != "fenced" {
		t.Errorf("the second instance: %v", err)
	}
	if err := one.Claim(t.Context()); err != nil {
		t.Errorf("the same instance again: %v", err)
	}
	if _, err := b.Events(t.Context(), old, 1, nil); task.KindOf(err) != task.KindUnauthorized {
		t.Errorf("the replaced session token: %v", err)
	}
	if _, err := one.Say(t.Context(), "hello\x00"); err != nil {
		t.Error(err)
	}
	if run := b.RunNow(runID); run.LaunchToken != "" || run.ClaimedBy != one.Instance {
		t.Errorf("token %q, claimed by %q", run.LaunchToken, run.ClaimedBy)
	}
	events, err := b.DB.EventsAfter(t.Context(), runID, 0, 100)
	if err != nil || len(events) != 4 || events[3].Type != "message" {
		t.Errorf("events %+v, %v", events, err)
	}
	b.Check()
}

func TestConflictsAtCommitChangeNothingTwice(t *testing.T) {
	t.Parallel()
	b := apptest.New(t, 2)
	for _, table := range []string{"runs", "tasks", "slots"} {
		storetest.FailCommits(t, b.DB, table, 4)
	}
	tk := b.NewTask(task.ExecutorAgent, apptest.Engineer)
	runID := b.Start(tk.ID, 1)
	b.Drain()
	finish(t, b, tk.ID, runID)
}

func TestConnectionsThatAreKilledAnywhere(t *testing.T) {
	t.Parallel()
	b := apptest.New(t, 2)
	tk := b.NewTask(task.ExecutorAgent, apptest.Engineer)
	ctx, stop := context.WithCancel(t.Context())
	killed := make(chan struct{})
	go func() {
		defer close(killed)
		for ctx.Err() == nil {
			time.Sleep(3 * time.Millisecond)
			_, _ = b.DB.Pool().Exec(ctx, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
		}
	}()
	var s *apptest.Supervisor
	again := func(what string, f func() error) {
		t.Helper()
		for range 200 {
			if err := f(); err == nil {
				return
			} else if task.KindOf(err) != task.KindUnavailable {
				t.Fatalf("%s: %v", what, err)
			}
			t.Logf("%s again", what)
		}
		t.Errorf("%s never got through", what)
	}
	again("start", func() error {
		_, err := b.StartRun(t.Context(), tk.ID, task.Start{Attempt: 1, By: apptest.Alice()})
		return err
	})
	runID := task.RunID(tk.ID, 1)
	again("advance", func() error {
		err := b.Advance(t.Context(), runID)
		if err == nil && len(b.Fleet.Boxes()) == 0 {
			return task.Unavailable("", "no sandbox yet", nil)
		}
		return err
	})
	s = b.Supervise(onlyBox(t, b))
	again("claim", func() error { return s.Claim(t.Context()) })
	again("prepare", func() error { return s.Prepare(t.Context()) })
	again("upload", func() error { return s.Upload(t.Context()) })
	again("report", func() error { return s.Report(t.Context()) })
	stop()
	<-killed
	b.DB.Pool().Reset()
	b.Fleet.End(s.Box, "")
	b.Attempts.Clear()
	b.Travel(5 * time.Minute)
	again("sweep", func() error { return b.Sweep(t.Context()) })
	b.Pass(5 * time.Minute)
	if run, got := b.RunNow(runID), b.TaskNow(tk.ID); run.State != task.StateCompleted || run.StoppedAt == nil || got.Status != task.StatusInReview {
		t.Errorf("run %s, stopped %v; Task %s", run.State, run.StoppedAt, got.Status)
	}
	b.Check()
}

func TestAResultThatIsNoneEndsTheAttempt(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{
		"not JSON":       `{"kind":`,
		"negative usage": `{"kind":"completed","content":"done","usage":{"input_tokens":-1}}`,
		"negative cost":  `{"kind":"completed","content":"done","usage":{"cost_usd":-0.5,"cost_known":true}}`,
	} {
		b, s, _, runID := working(t)
		sum := sha256.Sum256([]byte(content))
		sha := hex.EncodeToString(sum[:])
		url, err := b.Artifact(t.Context(), s.Session(), task.ArtifactResult, sha, int64(len(content)))
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Blobs.Put(t.Context(), apptest.Key(url), strings.NewReader(content), int64(len(content))); err != nil {
			t.Fatal(err)
		}
		if err := b.Result(t.Context(), s.Session(), sha); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if run := b.RunNow(runID); run.State != task.StateError || run.Ended == nil || run.Ended.Kind != task.EndInternal || run.Usage != nil {
			t.Errorf("%s: run %s, ended %+v, usage %+v", name, run.State, run.Ended, run.Usage)
		}
		b.Check()
	}
}
