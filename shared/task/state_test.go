package task_test

import (
	"strings"
	"testing"
	"time"

	"companyos/shared/task"
)

// at is the moment of the tests of runs.
var at = time.Date(2030, 5, 1, 12, 0, 0, 0, time.UTC)

const sha = "7fd1a60b01f91b314f59955a4e4d4e80d8edf11d"

// runIn is a sandboxed run in a state, as it comes about: claimed and prepared where the state has that.
func runIn(state task.State) task.Run {
	r := task.Run{
		ID: "run", TaskID: "task", Sandboxed: true, State: state, ExecutorType: task.ExecutorAgent, ExecutorID: "engineer",
		StartUntil: at.Add(time.Hour), DueAt: at.Add(time.Minute), StopGrace: 20 * time.Second, SourceID: "source",
		Checkout: task.RunCheckout{URL: "https://github.com/o/r", Branch: "main"},
	}
	if state == task.StatePending {
		return r
	}
	r.Launch, r.LaunchToken = 1, "token"
	r.LaunchHash, r.TokenUntil, r.SandboxARN = task.HashToken("token"), new(at.Add(8*time.Minute)), "box"
	if state == task.StateLaunching {
		return r
	}
	r.LaunchToken, r.ClaimedBy, r.ClaimedAt, r.SessionHash, r.RunUntil = "", "instance", new(at), "session", new(at.Add(40*time.Minute))
	r.PreparedAt, r.Checkout.Commit = new(at), sha
	switch state {
	case task.StateCancelling:
		r.CancelAt = new(at)
	case task.StateCompleted, task.StateError, task.StateCancelled:
		r.EndedAt, r.Ended = new(at), &task.Ended{Kind: task.EndFailed}
		r.ResultSHA256, r.ResultKey = "result", "key"
	case task.StatePending, task.StateLaunching, task.StateRunning:
	}
	return r
}

// taskOf is the Task that waits for a run.
func taskOf(r task.Run) task.Task {
	return task.Task{
		ID: "task", Status: task.StatusInProgress, JobID: &r.ID, LiveRunID: &r.ID,
		ExecutorType: new(task.ExecutorAgent), ExecutorID: new("engineer"),
	}
}

var source = task.SourceMatch{ID: "source"}

func TestTransitionsOfARunAreExactlyThese(t *testing.T) {
	t.Parallel()
	// Rows: from; columns: to, in the order of task.States: PENDING LAUNCHING RUNNING CANCELLING COMPLETED ERROR CANCELLED.
	matrix := map[task.State]string{
		task.StatePending:    ". x x . . x x",
		task.StateLaunching:  ". x x x . x .",
		task.StateRunning:    ". . . x x x x",
		task.StateCancelling: ". . . . . . x",
		task.StateCompleted:  ". . . . . . .",
		task.StateError:      ". . . . . . .",
		task.StateCancelled:  ". . . . . . .",
	}
	for from, row := range matrix {
		for i, cell := range strings.Fields(row) {
			to := task.States()[i]
			if got := from.MayBecome(to); got != (cell == "x") {
				t.Errorf("%s to %s: %v", from, to, got)
			}
		}
	}
}

// operation is one thing that may happen to a run, with the state that it leaves a run of each state in.
type operation struct {
	name string
	do   func(task.Run) task.Run
	want map[task.State]task.State // states that are not named stay
}

func operations() []operation {
	outcome := task.OutcomeOf(task.EndCompleted, "done")
	outcome.ResultSHA, outcome.ResultKey = "another result", "key"
	next := func(r task.Run) task.Run {
		if end := task.Next(r, time.Minute, at).End; end != nil {
			_, r = task.Settle(taskOf(r), r, *end, source, at)
		}
		return r
	}
	return []operation{
		{"admit", func(r task.Run) task.Run { r, _ = task.Admit(r, "s", time.Minute, at); return r }, map[task.State]task.State{"PENDING": "LAUNCHING"}},
		{"revoke", func(r task.Run) task.Run { r, _ = task.Revoke(r, task.ReasonRevoked, at); return r }, map[task.State]task.State{"PENDING": "ERROR", "LAUNCHING": "ERROR"}},
		{"claim", func(r task.Run) task.Run {
			r, _ = r.Claim(task.Claim{LaunchHash: task.HashToken("token"), Instance: "instance", SessionHash: "s", RunUntil: at.Add(time.Hour)}, at)
			return r
		}, map[task.State]task.State{"LAUNCHING": "RUNNING"}},
		{"cancel", func(r task.Run) task.Run { return task.Cancel(r, at) }, map[task.State]task.State{
			"PENDING": "CANCELLED", "LAUNCHING": "CANCELLING", "RUNNING": "CANCELLING",
		}},
		{"cancel after the stop", func(r task.Run) task.Run { r.StoppedAt = new(at); return task.Cancel(r, at) }, map[task.State]task.State{
			"PENDING": "CANCELLED", "LAUNCHING": "CANCELLING", "RUNNING": "CANCELLED",
		}},
		{"wrong pin", func(r task.Run) task.Run {
			r.PreparedAt = nil
			k := taskOf(r)
			r, _ = r.Prepared(&k, task.RunCheckout{URL: "https://github.com/o/r", Branch: "other", Commit: sha}, source, at)
			return r
		}, map[task.State]task.State{"RUNNING": "ERROR"}},
		{"result", func(r task.Run) task.Run { _, r, _ = task.Report(taskOf(r), r, outcome, source, at); return r }, map[task.State]task.State{"RUNNING": "COMPLETED"}},
		{"start limit", func(r task.Run) task.Run { r.StartUntil = at; return next(r) }, map[task.State]task.State{"PENDING": "ERROR", "LAUNCHING": "ERROR"}},
		{"run limit", func(r task.Run) task.Run { r.RunUntil = new(at); return next(r) }, map[task.State]task.State{"RUNNING": "ERROR"}},
		{"a minute after the stop", func(r task.Run) task.Run {
			if r.Launch > 0 {
				r.StoppedAt = new(at.Add(-time.Minute))
			}
			return next(r)
		}, map[task.State]task.State{"RUNNING": "ERROR", "CANCELLING": "CANCELLED"}},
		{"no capacity", func(r task.Run) task.Run {
			r.SandboxARN = ""
			r, _ = task.CallFailed(r, 1, task.EndNoCapacity, "s", at)
			return r
		}, nil},
		{"no image", func(r task.Run) task.Run {
			r.SandboxARN = ""
			r, _ = task.CallFailed(r, 1, task.EndImageUnavailable, "s", at)
			return r
		}, map[task.State]task.State{"LAUNCHING": "ERROR"}},
		{"stop for Spot", stop(task.EndInterrupted), map[task.State]task.State{"CANCELLING": "CANCELLED"}},
		{"stop for memory", stop(task.EndOutOfMemory), map[task.State]task.State{"LAUNCHING": "ERROR", "CANCELLING": "CANCELLED"}},
		{"exit", stop(""), map[task.State]task.State{"LAUNCHING": "ERROR", "CANCELLING": "CANCELLED"}},
	}
}

func stop(reason task.EndKind) func(task.Run) task.Run {
	return func(r task.Run) task.Run {
		r, _ = task.Observe(r, 1, []task.Seen{{Handle: "box", Reason: reason}}, "s", at)
		return r
	}
}

func TestEveryOperationInEveryState(t *testing.T) {
	t.Parallel()
	for _, op := range operations() {
		for _, from := range task.States() {
			before := runIn(from)
			after := op.do(before)
			want, named := op.want[from]
			if !named {
				want = from
			}
			if after.State != want {
				t.Errorf("%s of a %s run: %s, want %s", op.name, from, after.State, want)
			}
			if after.State != from && !from.MayBecome(after.State) {
				t.Errorf("%s: %s may not become %s", op.name, from, after.State)
			}
			if from.Terminal() && (after.State != from || *after.Ended != *before.Ended || after.ResultSHA256 != before.ResultSHA256 || after.Content != before.Content) {
				t.Errorf("%s changed a %s run", op.name, from)
			}
			if after.State.Terminal() && !from.Terminal() && (after.Ended == nil || after.EndedAt == nil || after.LaunchToken != "" || after.WaitingReason != "" || after.LeaseUntil != nil) {
				t.Errorf("%s of a %s run leaves %+v", op.name, from, after)
			}
		}
	}
}

// Every way to an end clears the same fields of the Task, and only the run that the Task waits for shows its result.
func TestEveryEndFreesTheTask(t *testing.T) {
	t.Parallel()
	ends := 0
	for _, op := range operations() {
		for _, from := range task.States() {
			after := op.do(runIn(from))
			if from.Terminal() || !after.State.Terminal() {
				continue
			}
			ends++
			waiting := taskOf(after)
			closed := task.Close(waiting, after, at)
			if closed.LiveRunID != nil || closed.Result == nil || closed.Result.RunID != "run" || string(closed.Result.Status) != string(after.State) {
				t.Errorf("%s of a %s run: %+v", op.name, from, closed)
			}
			if reviewed := closed.Status == task.StatusInReview; reviewed != (after.State == task.StateCompleted) || reviewed != (len(closed.Transitions) == 1) {
				t.Errorf("%s of a %s run leaves the Task %s", op.name, from, closed.Status)
			}
			for name, change := range map[string]func(*task.Task){
				"backlog":  func(k *task.Task) { k.Status = task.StatusBacklog },
				"review":   func(k *task.Task) { k.Status = task.StatusInReview },
				"archived": func(k *task.Task) { k.ArchivedAt = new(at) },
				"next run": func(k *task.Task) { k.JobID = new("next") },
			} {
				other := waiting
				change(&other)
				if closed := task.Close(other, after, at); closed.LiveRunID != nil || closed.Result != nil || closed.Status != other.Status || closed.Checkout != nil {
					t.Errorf("%s of a %s run changes a Task that moved on (%s): %+v", op.name, from, name, closed)
				}
			}
			other := waiting
			other.LiveRunID = new("next")
			if closed := task.Close(other, after, at); closed.LiveRunID == nil {
				t.Errorf("%s of a %s run frees a Task of another run", op.name, from)
			}
		}
	}
	if ends < 12 {
		t.Errorf("only %d ends were looked at", ends)
	}
}
