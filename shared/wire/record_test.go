package wire

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"companyos/shared/company"
	"companyos/shared/task"
)

// golden compares a record with testdata/NAME.json, key by key.
func golden(t *testing.T, name string, record any) {
	t.Helper()
	raw, err := Marshal(record)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/" + name + ".json")
	if err != nil {
		t.Fatalf("%v; the record is %s", err, raw)
	}
	var a, b any
	if err := json.Unmarshal(want, &a); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &b); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("%s: (-want +got)\n%s", name, diff)
	}
}

func clock(seconds int64) time.Time { return time.Unix(seconds, 987654000).UTC() }

func TestTaskRecord(t *testing.T) {
	t.Parallel()
	kind, engineer, alice, bob := task.ExecutorAgent, "engineer", "alice", "bob"
	updated := clock(1700000300)
	secret := &task.Authorization{PrincipalID: "alice", Scopes: []string{"agent_os:admin"}}
	tk := task.Task{
		ID: "t1", ProductID: "p1", ProjectID: "j1", Title: "Try", Origin: task.OriginHuman, Status: task.StatusInReview, UserID: &alice,
		ExecutorType: &kind, ExecutorID: &engineer, AcceptedBy: &bob, AcceptedAt: &updated, SessionID: "s1", JobID: ptr("r2"),
		Checkout:  &task.Checkout{SourceID: "c1", URL: "https://github.com/o/r", Branch: "main", Commit: strings.Repeat("a", 40)},
		Result:    &task.Result{RunID: "r2", Status: task.ResultCompleted, Content: "done <&>", ContentType: "str"},
		CreatedAt: clock(1700000000), UpdatedAt: &updated,
		Transitions: []task.Entry{
			{From: "backlog", Target: "ready", Reason: "go", UserID: &bob, CreatedAt: 1700000001, Authority: secret, AutoAccept: &task.AutoAccept{RoutineID: "x", Policy: "f", MaxAcceptances: 2}},
			{From: "ready", Target: "in_progress", Reason: "Task execution requested", UserID: &alice, StartedBy: &alice, CreatedAt: 1700000002, Attempt: 1, RunDBID: "company-db"},
			{Action: "archive", From: "in_progress", Target: "in_progress", Reason: "Parent archived", CreatedAt: 1700000003, ArchivedBy: &task.Parent{Type: "product", ID: "p1"}},
			{Action: "restore", From: "in_progress", Target: "in_progress", Reason: "Restored", CreatedAt: 1700000004},
			{From: "in_review", Target: "in_progress", Reason: "Task execution requested", UserID: &bob, StartedBy: &bob, SessionUserID: &alice, CreatedAt: 1700000005, Attempt: 2, RunDBID: "company-db", RevisionReason: "shorter"},
		},
	}
	golden(t, "task", NewTask(tk, true))
	bare := task.Task{ID: "t1", ProductID: "p1", ProjectID: "j1", Title: "Try", Origin: task.OriginHuman, Status: task.StatusBacklog, SessionID: "s1", CreatedAt: clock(1700000000)}
	golden(t, "task_bare", NewTask(bare, false))
}

func TestCompanyRecords(t *testing.T) {
	t.Parallel()
	window := map[string]json.RawMessage{"archive_window_days": json.RawMessage("14"), "k": json.RawMessage("[1]")}
	counts := company.TaskCounts{task.StatusBacklog: 2, task.StatusDone: 1}
	golden(t, "product", NewProduct(company.Product{ID: "p1", Name: "Widget", UserID: ptr("alice"), Metadata: window, CreatedAt: clock(1700000000)},
		company.ProductCounts{Projects: 3, Tasks: counts}))
	archived := clock(1700000009)
	golden(t, "project", NewProject(company.Project{
		ID: "j1", ProductID: "p1", Name: "Launch", Status: company.ProjectActive, TargetDate: ptr(int64(1)), CreatedAt: clock(1700000000), ArchivedAt: &archived,
		Transitions: []task.Entry{{Action: "archive", From: "active", Target: "active", Reason: "Archived", CreatedAt: 1700000009}},
	}, counts))
	golden(t, "source", NewSource(company.Source{ID: "c1", ProductID: "p1", Type: company.SourceGit, Reference: "https://github.com/o/r", CreatedAt: clock(1700000000)}))
	golden(t, "page", NewPage([]company.Attention{}, 41, Query{Page: 9, Limit: 20}, func(a company.Attention) Attention { return NewAttention(a, nil) }))
	golden(t, "attention", NewAttention(company.Attention{
		Proposals: 1, InReview: 2, Failed: 3, AutomationFailures: []company.AutomationFailure{{TaskID: "t1", Reason: "x", Count: 2}},
	}, []company.Attended{company.Attend(company.Waiting{
		Cause: company.CauseAutomation, TaskID: "t1", ProductID: "p1", Title: "Try", Since: clock(1700000000), Status: task.StatusReady, Reason: "x", Count: 2,
	}, ptr(clock(1700003600)))}))
}

func TestRunRecord(t *testing.T) {
	t.Parallel()
	at := clock(1700000100)
	run := task.Run{
		ID: "r2", TaskID: "t1", Attempt: 2, SessionID: "s1", UserID: ptr("alice"), StartedBy: ptr("bob"), ExecutorType: task.ExecutorAgent, ExecutorID: "engineer",
		Sandboxed: true, State: task.StateCompleted, CreatedAt: clock(1700000000), UpdatedAt: &at, Launch: 1, ClaimedAt: &at, LaunchToken: "cl1.secret",
		LaunchHash: "secret", SessionHash: "secret", InputKey: "secret", SandboxARN: "secret", SandboxInfo: &task.SandboxInfo{HarnessVersion: "2.1", Lock: "netlock"},
		Checkout: task.RunCheckout{URL: "https://github.com/o/r", Branch: "main", Commit: strings.Repeat("a", 40), Requested: strings.Repeat("a", 40)},
		Content:  "done", Ended: &task.Ended{Kind: task.EndCompleted, Message: "done"}, Usage: &task.Usage{InputTokens: 1},
		Artifacts: []task.Artifact{
			{Kind: "patch", Key: "secret", SHA256: "old", Size: 1},
			{Kind: "patch", Key: "secret", SHA256: "new", Size: 2, Files: 3, TakenAt: 1700000099},
			{Kind: "transcript", Key: "secret", SHA256: "tr", Size: 4},
			{Kind: "log", Key: "secret", SHA256: "lg", Size: 5},
		},
	}
	record := NewRun(run, "{}")
	golden(t, "run", record)
	raw, err := Marshal(record)
	if err != nil || strings.Contains(string(raw), "secret") {
		t.Errorf("a record shows what is private: %s, %v", raw, err)
	}
	golden(t, "run_waiting", NewRun(task.Run{
		ID: "r1", TaskID: "t1", Attempt: 1, SessionID: "s1", ExecutorType: task.ExecutorWorkflow, ExecutorID: "notes", State: task.StateLaunching,
		CreatedAt: clock(1700000000), WaitingReason: "slot", WaitingSince: &at,
	}, ""))
	run.Content = strings.Repeat("ä", listedContent)
	listed := NewListedRun(run)
	if c := *listed.RunData.Content; len(c) > listedContent || !listed.RunData.Truncated || strings.Trim(c, "ä") != "" {
		t.Errorf("a listed run shows %d bytes", len(c))
	}
	for state, want := range map[task.State]string{
		task.StatePending: "PENDING", task.StateLaunching: "PENDING", task.StateRunning: "RUNNING", task.StateCancelling: "RUNNING",
		task.StateError: "ERROR", task.StateCancelled: "CANCELLED",
	} {
		if got := NewRun(task.Run{State: state}, "").Status; got != want {
			t.Errorf("%s reads %s", state, got)
		}
	}
}
