package app_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"companyos/shared/app/apptest"
	"companyos/shared/executor"
	"companyos/shared/task"
)

// once plans a fault for the n-th call of a kind, counted from 1.
func once(call string, n int, fault apptest.Fault) func(string) apptest.Fault {
	seen := 0
	return func(c string) apptest.Fault {
		if c != call {
			return apptest.FaultNone
		}
		if seen++; seen == n {
			return fault
		}
		return apptest.FaultNone
	}
}

func always(call string, fault apptest.Fault) func(string) apptest.Fault {
	return func(c string) apptest.Fault {
		if c == call {
			return fault
		}
		return apptest.FaultNone
	}
}

// started is a bench with one attempt whose first messages were delivered.
func started(t *testing.T) (*apptest.Bench, task.Task, string) {
	t.Helper()
	b := apptest.New(t, 2)
	tk := b.NewTask(task.ExecutorAgent, apptest.Engineer)
	runID := b.Start(tk.ID, 1)
	b.Drain()
	return b, tk, runID
}

// onlyBox is the sandbox that ever started.
func onlyBox(t *testing.T, b *apptest.Bench) *apptest.Box {
	t.Helper()
	boxes := b.Fleet.Boxes()
	if len(boxes) != 1 {
		t.Fatalf("%d sandboxes were started", len(boxes))
	}
	return boxes[0]
}

// finish lets the only sandbox do its work, and expects the Task in review.
func finish(t *testing.T, b *apptest.Bench, taskID, runID string) {
	t.Helper()
	if err := b.Supervise(onlyBox(t, b)).Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.Pass(time.Minute)
	if run, tk := b.RunNow(runID), b.TaskNow(taskID); run.State != task.StateCompleted || run.StoppedAt == nil || tk.Status != task.StatusInReview {
		t.Errorf("run %s, stopped %v; Task %s", run.State, run.StoppedAt, tk.Status)
	}
	b.Check()
}

func TestTheSameMessageManyTimesAtOnceStartsOneSandbox(t *testing.T) {
	t.Parallel()
	b := apptest.New(t, 2)
	tk := b.NewTask(task.ExecutorAgent, apptest.Engineer)
	runID := b.Start(tk.ID, 1)
	b.Warm(8)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if err := b.Advance(t.Context(), runID); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := b.Fleet.Calls("start"); n != 1 {
		t.Errorf("the sandbox was asked for %d times", n)
	}
	finish(t, b, tk.ID, runID)
}

func TestAMessageForAnUnknownRunStartsNothing(t *testing.T) {
	t.Parallel()
	b := apptest.New(t, 2)
	if err := b.Advance(t.Context(), task.RunID("no-such-task", 1)); err != nil {
		t.Fatal(err)
	}
	if err := b.Execute(t.Context(), task.RunID("no-such-task", 1), b.Runner); err != nil {
		t.Fatal(err)
	}
	if len(b.Fleet.Boxes()) != 0 || b.Attempts.Len() != 0 {
		t.Error("something was started or sent")
	}
	b.Check()
}

func TestAStartWhoseLastWakeIsLostBeginsWithTheFirst(t *testing.T) {
	t.Parallel()
	b := apptest.New(t, 2)
	tk := b.NewTask(task.ExecutorAgent, apptest.Engineer)
	b.Attempts.Plan = once("send", 2, apptest.FaultBefore)
	runID := b.Start(tk.ID, 1)
	b.Drain()
	if len(b.Fleet.Boxes()) != 0 {
		t.Fatal("it began without a message")
	}
	b.Pass(31 * time.Second)
	finish(t, b, tk.ID, runID)
}

func TestAStartWhoseFirstWakeGetsAnErrorReservesNothing(t *testing.T) {
	t.Parallel()
	for _, fault := range []apptest.Fault{apptest.FaultBefore, apptest.FaultAfter} {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			b := apptest.New(t, 2)
			tk := b.NewTask(task.ExecutorAgent, apptest.Engineer)
			b.Attempts.Plan = once("send", 1, fault)
			_, err := b.StartRun(t.Context(), tk.ID, task.Start{Attempt: 1, By: apptest.Alice()})
			if task.KindOf(err) != task.KindUnavailable {
				t.Fatalf("the start answered %v", err)
			}
			b.Pass(time.Minute)
			if got := b.TaskNow(tk.ID); got.Status != task.StatusReady || len(b.Fleet.Boxes()) != 0 {
				t.Fatalf("Task %s, %d sandboxes", got.Status, len(b.Fleet.Boxes()))
			}
			runID := b.Start(tk.ID, 1)
			b.Drain()
			finish(t, b, tk.ID, runID)
		})
	}
}

func TestEveryMessageLostIsRepairedBySweep(t *testing.T) {
	t.Parallel()
	b := apptest.New(t, 2)
	tk := b.NewTask(task.ExecutorAgent, apptest.Engineer)
	runID := b.Start(tk.ID, 1)
	b.Attempts.Clear()
	b.Travel(5 * time.Minute)
	var all sync.WaitGroup
	for range 3 { // overlapping sweeps
		all.Go(func() {
			if err := b.Sweep(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	b.Drain()
	finish(t, b, tk.ID, runID)
}

func TestAHandlerThatDiesAfterTheCallAdoptsItsSandbox(t *testing.T) {
	t.Parallel()
	for _, fault := range []apptest.Fault{apptest.FaultCrash, apptest.FaultAfter} {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			b := apptest.New(t, 2)
			tk := b.NewTask(task.ExecutorAgent, apptest.Engineer)
			b.Fleet.Plan = once("start", 1, fault)
			runID := b.Start(tk.ID, 1)
			b.Deliver(b.Attempts, b.Attempts.Due()[0])
			if run := b.RunNow(runID); run.State != task.StateLaunching || run.SandboxARN != "" || run.Launch != 1 {
				t.Fatalf("run %+v", run)
			}
			b.Pass(2 * time.Minute)
			run := b.RunNow(runID)
			if run.SandboxARN != onlyBox(t, b).Handle || run.Launch != 1 {
				t.Fatalf("sandbox %q, launch %d", run.SandboxARN, run.Launch)
			}
			finish(t, b, tk.ID, runID)
		})
	}
}

func TestOneCallOfALaunchIsInFlight(t *testing.T) {
	t.Parallel()
	b := apptest.New(t, 2)
	tk := b.NewTask(task.ExecutorAgent, apptest.Engineer)
	b.Fleet.Plan = once("start", 1, apptest.FaultBefore)
	runID := b.Start(tk.ID, 1)
	b.Deliver(b.Attempts, b.Attempts.Due()[0])
	b.Warm(6)
	var calls atomic.Int32
	b.Fleet.Plan = func(call string) apptest.Fault {
		if call == "start" {
			calls.Add(1)
			time.Sleep(200 * time.Millisecond) // all the others decide meanwhile
		}
		return apptest.FaultNone
	}
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() { b.Handle(b.Attempts, runID) })
	}
	all.Wait()
	if n := calls.Load(); n != 1 {
		t.Errorf("%d calls were in flight", n)
	}
	finish(t, b, tk.ID, runID)
}

func TestNoMoreSandboxesThanSlots(t *testing.T) {
	t.Parallel()
	b := apptest.New(t, 2)
	var runs []string
	for range 6 {
		runs = append(runs, b.Start(b.NewTask(task.ExecutorAgent, apptest.Engineer).ID, 1))
	}
	var all sync.WaitGroup
	for _, runID := range runs {
		all.Go(func() { b.Handle(b.Attempts, runID) })
	}
	all.Wait()
	if n := len(b.Fleet.Alive()); n != 2 {
		t.Errorf("%d sandboxes run", n)
	}
	taken := 0
	if err := b.DB.Pool().QueryRow(t.Context(), "SELECT count(*) FROM slots WHERE slot BETWEEN 1 AND 2").Scan(&taken); err != nil || taken != 2 {
		t.Errorf("%d slots are taken, %v", taken, err)
	}
	b.Check()
}

func TestADayLaterNothingIsStartedAndWhatRunsIsStopped(t *testing.T) {
	t.Parallel()
	b := apptest.New(t, 2)
	tk := b.NewTask(task.ExecutorAgent, apptest.Engineer)
	b.Fleet.Plan = once("start", 1, apptest.FaultCrash)
	runID := b.Start(tk.ID, 1)
	b.Deliver(b.Attempts, b.Attempts.Due()[0])
	b.Attempts.Clear()
	b.Travel(25 * time.Hour)
	if err := b.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.Drain()
	box := onlyBox(t, b)
	if !box.StopAsked {
		t.Error("the sandbox was not told to stop")
	}
	b.Fleet.End(box, "")
	b.Pass(2 * time.Minute)
	run := b.RunNow(runID)
	if run.State != task.StateError || run.Ended.Kind != task.EndStartTimeout || run.StoppedAt == nil {
		t.Errorf("run %s %+v, stopped %v", run.State, run.Ended, run.StoppedAt)
	}
	if got := b.TaskNow(tk.ID); got.Status != task.StatusInProgress || got.Result.Status != task.ResultError || got.LiveRunID != nil {
		t.Errorf("Task %s, result %+v", got.Status, got.Result)
	}
	b.Check()
}

func TestThrottlingDelaysAndFailsNothing(t *testing.T) {
	t.Parallel()
	b := apptest.New(t, 2)
	tk := b.NewTask(task.ExecutorAgent, apptest.Engineer)
	b.Fleet.Plan = always("start", apptest.FaultThrottled)
	runID := b.Start(tk.ID, 1)
	b.Pass(5 * time.Minute)
	run := b.RunNow(runID)
	if run.State != task.StateLaunching || run.WaitingReason != task.WaitingThrottled || run.Launch != 1 {
		t.Fatalf("run %s, waits for %q, launch %d", run.State, run.WaitingReason, run.Launch)
	}
	b.Check()
	b.Fleet.Plan = nil
	b.Pass(time.Minute)
	finish(t, b, tk.ID, runID)
}

func TestNoCapacityIsTriedAgainWithTheNextLaunchUntilTheStartLimit(t *testing.T) {
	t.Parallel()
	b := apptest.New(t, 2)
	tk := b.NewTask(task.ExecutorAgent, apptest.Engineer)
	b.Fleet.Plan = always("start", apptest.FaultCapacity)
	runID := b.Start(tk.ID, 1)
	b.Pass(10 * time.Minute)
	run := b.RunNow(runID)
	if run.State != task.StateLaunching || run.WaitingReason != task.WaitingCapacity || run.Launch < 3 {
		t.Fatalf("run %s, waits for %q, launch %d", run.State, run.WaitingReason, run.Launch)
	}
	b.Check()
	b.Pass(time.Hour)
	if run = b.RunNow(runID); run.State != task.StateError || run.Ended.Kind != task.EndNoCapacity || run.Ended.Limit != "start" {
		t.Errorf("run %s %+v", run.State, run.Ended)
	}
	b.Check()
}

func TestAnImageThatCannotBeHadEndsTheRunAtOnce(t *testing.T) {
	t.Parallel()
	b := apptest.New(t, 2)
	tk := b.NewTask(task.ExecutorAgent, apptest.Engineer)
	b.Fleet.Plan = always("start", apptest.FaultImage)
	runID := b.Start(tk.ID, 1)
	b.Drain()
	if run := b.RunNow(runID); run.State != task.StateError || run.Ended.Kind != task.EndImageUnavailable {
		t.Errorf("run %s %+v", run.State, run.Ended)
	}
	b.Check()
}

func TestALaunchThatNobodyClaimsIsFollowedByTheNext(t *testing.T) {
	t.Parallel()
	b, tk, runID := started(t)
	first := onlyBox(t, b)
	b.Pass(11 * time.Minute)
	if !first.StopAsked {
		t.Fatal("a sandbox whose token expired was not told to stop")
	}
	if err := b.Supervise(first).Claim(t.Context()); err == nil {
		t.Error("an expired launch token was accepted")
	}
	b.Fleet.End(first, "")
	b.Pass(time.Minute)
	boxes := b.Fleet.Alive()
	if len(boxes) != 1 || boxes[0].Spec.Launch != 2 {
		t.Fatalf("sandboxes %+v", boxes)
	}
	if err := b.Supervise(boxes[0]).Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.Pass(time.Minute)
	if run := b.RunNow(runID); run.State != task.StateCompleted || b.TaskNow(tk.ID).Status != task.StatusInReview {
		t.Errorf("run %s", run.State)
	}
	b.Check()
}

func TestSlotsAreGivenInTheOrderOfTheStarts(t *testing.T) {
	t.Parallel()
	b := apptest.New(t, 1)
	var runs []string
	for range 3 {
		runs = append(runs, b.Start(b.NewTask(task.ExecutorAgent, apptest.Engineer).ID, 1))
		b.Travel(time.Second)
	}
	for i, runID := range runs {
		b.Pass(3 * time.Minute)
		alive := b.Fleet.Alive()
		if len(alive) != 1 || alive[0].Spec.RunID != runID {
			t.Fatalf("sandboxes at turn %d: %+v", i, alive)
		}
		if err := b.Supervise(alive[0]).Finish(t.Context()); err != nil {
			t.Fatal(err)
		}
		b.Check()
	}
}

func TestFiftyStartsAtOnceAreOne(t *testing.T) {
	t.Parallel()
	b := apptest.New(t, 2)
	tk := b.NewTask(task.ExecutorAgent, apptest.Engineer)
	ids := make([]string, 50)
	var all sync.WaitGroup
	for i := range ids {
		all.Go(func() {
			started, err := b.StartRun(t.Context(), tk.ID, task.Start{Attempt: 1, By: apptest.Alice()})
			if err != nil {
				t.Error(err)
			}
			ids[i] = started.RunID
		})
	}
	all.Wait()
	for _, id := range ids {
		if id != ids[0] {
			t.Fatalf("runs %q and %q", ids[0], id)
		}
	}
	b.Drain()
	finish(t, b, tk.ID, ids[0])
}

// A secret that does not exist is the operator's to give: it is said before and after a start, and nobody waits for it.
func TestAMissingSecretEndsTheAttemptAtOnce(t *testing.T) {
	t.Parallel()
	b := apptest.New(t, 2)
	b.Company.Secrets = func(context.Context, []string) (map[string]string, error) {
		return nil, fmt.Errorf("read: %w", executor.MissingSecret("GITHUB_READ_TOKEN", "Give it."))
	}
	list, err := b.ListExecutors(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, ex := range list.Executors {
		if missing := ex.Problem != nil && ex.Problem.Code == executor.CodeSecretMissing; missing != ex.HasSecret("GITHUB_READ_TOKEN") {
			t.Errorf("%s: %+v", ex.ID, ex.Problem)
		}
	}
	tk := b.NewTask(task.ExecutorAgent, apptest.Engineer)
	runID := b.Start(tk.ID, 1)
	b.Drain()
	s := b.Supervise(onlyBox(t, b))
	if err := s.Claim(t.Context()); code(err) != "fenced" {
		t.Errorf("the claim: %v", err)
	}
	b.Fleet.End(s.Box, "")
	b.Pass(time.Minute)
	const said = "The secret GITHUB_READ_TOKEN does not exist or is empty. Give it."
	run := b.RunNow(runID)
	if run.State != task.StateError || run.Ended.Kind != task.EndSecretMissing || run.Content != said || run.StoppedAt == nil {
		t.Errorf("run %s, %+v, %q, stopped %v", run.State, run.Ended, run.Content, run.StoppedAt)
	}
	if got := b.TaskNow(tk.ID); got.Status != task.StatusInProgress || got.Result == nil || got.Result.Content != said {
		t.Errorf("Task %s, %+v", got.Status, got.Result)
	}
	b.Check()
}

// Secrets that cannot be read at the moment are asked for again.
func TestSecretsThatAreAwayAreAskedForAgain(t *testing.T) {
	t.Parallel()
	b := apptest.New(t, 2)
	have := b.Company.Secrets
	b.Company.Secrets = func(context.Context, []string) (map[string]string, error) { return nil, errors.New("throttled") }
	tk := b.NewTask(task.ExecutorAgent, apptest.Engineer)
	b.Start(tk.ID, 1)
	b.Drain()
	s := b.Supervise(onlyBox(t, b))
	if err := s.Claim(t.Context()); code(err) != "secrets_unavailable" {
		t.Errorf("the claim: %v", err)
	}
	b.Company.Secrets = have
	if err := s.Finish(t.Context()); err != nil {
		t.Error(err)
	}
	b.Pass(time.Minute)
	if got := b.TaskNow(tk.ID); got.Status != task.StatusInReview {
		t.Errorf("Task %s", got.Status)
	}
	b.Check()
}

// TestTheQueueIsLost: a process that kept its queue in memory died while it started a sandbox. The next one adopts that at once,
// and looks again when the run is due, as if nothing had been lost.
func TestTheQueueIsLost(t *testing.T) {
	t.Parallel()
	b := apptest.New(t, 2)
	tk := b.NewTask(task.ExecutorAgent, apptest.Engineer)
	runID := b.Start(tk.ID, 1)
	b.Fleet.Plan = once("start", 1, apptest.FaultCrash)
	for _, m := range b.Attempts.Due() {
		b.Deliver(b.Attempts, m)
	}
	b.Attempts.Clear()
	if run := b.RunNow(runID); run.State != task.StateLaunching || run.CallingUntil == nil {
		t.Fatalf("run %s, calling until %v: nobody died in a call", run.State, run.CallingUntil)
	}
	if err := errors.Join(b.DB.EndLeases(t.Context(), b.Clock.Now()), b.WakeAll(t.Context())); err != nil {
		t.Fatal(err)
	}
	b.Drain()
	box := onlyBox(t, b)
	if run := b.RunNow(runID); run.SandboxARN != box.Handle {
		t.Errorf("the sandbox is %q, not %s", run.SandboxARN, box.Handle)
	}
	b.Fleet.End(box, "")
	b.Pass(time.Minute)
	if run := b.RunNow(runID); run.State != task.StateError {
		t.Errorf("a minute after its sandbox's end the run is %s", run.State)
	}
	b.Pass(time.Hour)
	b.Check()
}
