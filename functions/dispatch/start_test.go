package main

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"companyos/shared/app/apptest"
	"companyos/shared/sandbox/fargate/ecstest"
	"companyos/shared/task"
)

func TestTheSameMessageAtOnceAndAgainStartsOneSandbox(t *testing.T) {
	t.Parallel()
	w := open(t, 2, ecstest.Options{})
	w.reserve()
	var all sync.WaitGroup
	for range 6 { // as many environments of the function
		all.Go(func() {
			d := *w.d
			if failed := d.handle(t.Context(), batch(wake(w.run), wake(w.run+"/1"))).BatchItemFailures; len(failed) != 0 {
				t.Errorf("failed: %v", failed)
			}
		})
	}
	all.Wait()
	w.pass(2 * time.Second)
	w.finish()
	if failed := w.handle(t.Context(), wake(w.run)); len(failed) != 0 { // redriven from the dead letters
		t.Errorf("a message of a settled run failed: %v", failed)
	}
	w.only()
}

func TestAMessageOfNoRunIsDroppedAndCounted(t *testing.T) {
	t.Parallel()
	w := open(t, 2, ecstest.Options{})
	if failed := w.handle(t.Context(), wake("6f1d2a8e-0f0b-5b6e-9a51-0d8f6f4f6a11")); len(failed) != 0 {
		t.Errorf("it failed")
	}
	var line struct {
		UnknownRuns int
		AWS         struct {
			CloudWatchMetrics []struct {
				Namespace string
				Metrics   []struct{ Name string }
			}
		} `json:"_aws"`
	}
	if err := json.Unmarshal([]byte(w.log.String()), &line); err != nil || line.UnknownRuns != 1 || line.AWS.CloudWatchMetrics[0].Metrics[0].Name != "UnknownRuns" {
		t.Errorf("%v: %s", err, w.log)
	}
	if len(w.ecs.Tasks()) != 0 || w.Attempts.Len() != 0 {
		t.Error("something was started or sent")
	}
}

func TestPoisonLeavesItsBatchUnharmed(t *testing.T) {
	t.Parallel()
	w := open(t, 2, ecstest.Options{})
	w.reserve()
	failed := w.handle(t.Context(), `not JSON`, wake(w.run), `{"v":1}`, `{"v":7,"run":"`+w.run+`"}`, wake("x"), `{"v":1,"run":null}`, wake(w.run))
	if want := []string{"0", "2", "3", "4", "5"}; !slices.Equal(failed, want) {
		t.Errorf("failed %v, want %v", failed, want)
	}
	w.finish()
}

// A crash between the reservation and its second wake.
func TestTheFirstWakeIsEnough(t *testing.T) {
	t.Parallel()
	w := open(t, 2, ecstest.Options{})
	sends := 0
	w.Attempts.Plan = func(string) apptest.Fault {
		if sends++; sends == 2 {
			return apptest.FaultBefore
		}
		return apptest.FaultNone
	}
	w.reserve()
	w.deliver()
	if len(w.ecs.Tasks()) != 0 {
		t.Fatal("it began without a message")
	}
	w.pass(31 * time.Second)
	w.finish()
}

// dies lets the function die after ECS took the order and before the answer was stored.
func (w *office) dies() {
	w.T.Helper()
	w.ecs.Fail("RunTask", ecstest.FaultHang)
	ctx, cancel := context.WithTimeout(w.T.Context(), 2*time.Second) // a second is the batch's margin
	defer cancel()
	if failed := w.handle(ctx, wake(w.run)); !slices.Equal(failed, []string{"0"}) {
		w.T.Fatalf("failed: %v", failed)
	}
	if run := w.RunNow(w.run); run.State != task.StateLaunching || run.SandboxARN != "" {
		w.T.Fatalf("run %s with sandbox %q", run.State, run.SandboxARN)
	}
}

func TestADeathAfterTheOrderIsHealedByTheSameOrder(t *testing.T) {
	t.Parallel()
	for name, redeploy := range map[string]func(*office){
		"same order":    func(*office) {},
		"changed order": func(w *office) { w.launch.TaskDefinition, w.launch.Subnets = "sandbox:2", []string{"subnet-c"} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := open(t, 2, ecstest.Options{})
			w.reserve()
			w.dies()
			redeploy(w)
			w.redeploy()
			w.pass(time.Minute)
			if run := w.RunNow(w.run); run.SandboxARN != w.only().ARN || run.Launch != 1 || w.ecs.Calls("RunTask") != 2 {
				t.Errorf("launch %d has %q after %d calls", run.Launch, run.SandboxARN, w.ecs.Calls("RunTask"))
			}
			w.finish()
		})
	}
}

func TestADayLaterNothingIsOrderedAndWhatRunsIsStopped(t *testing.T) {
	t.Parallel()
	w := open(t, 2, ecstest.Options{StopAtOnce: true, RunAtOnce: true})
	w.reserve()
	w.dies()
	w.Attempts.Clear()
	w.Travel(25 * time.Hour)
	w.handle(t.Context(), wake(w.run))
	w.pass(10 * time.Minute)
	if w.ecs.Calls("RunTask") != 1 || w.only().LastStatus != "STOPPED" {
		t.Errorf("%d orders, sandbox %s", w.ecs.Calls("RunTask"), w.only().LastStatus)
	}
	w.ended(task.EndStartTimeout)
}

func TestThrottlesDelayAndFailNothing(t *testing.T) {
	t.Parallel()
	const runs = 4 // a bucket of 2, so half of them are throttled
	w := open(t, runs, ecstest.Options{Burst: 2, PerSecond: 0.05})
	for range runs {
		w.reserve()
	}
	w.deliver()
	if n := len(w.ecs.Tasks()); n != 2 {
		t.Fatalf("%d of %d were started from a bucket of 2", n, runs)
	}
	w.pass(5 * time.Minute)
	if n := len(w.ecs.Tasks()); n != runs {
		t.Errorf("%d of %d were started", n, runs)
	}
	for _, one := range w.ecs.Tasks() {
		if !strings.HasSuffix(one.Order.StartedBy, "/1") {
			t.Errorf("%s: a throttle cost a launch", one.Order.StartedBy)
		}
	}
	w.check()
}

func TestWithoutCapacityTheNextLaunchAsksElsewhere(t *testing.T) {
	t.Parallel()
	const away = "Capacity is unavailable at this time. Please try again later or in a different availability zone"
	w := open(t, 2, ecstest.Options{Place: func(o ecstest.Order) string {
		if slices.Equal(o.Subnets, []string{"subnet-b"}) {
			return ""
		}
		return away
	}})
	w.reserve()
	w.pass(5 * time.Minute)
	if one := w.only(); one.Order.StartedBy != w.run+"/3" {
		t.Errorf("started as %s", one.Order.StartedBy)
	}
	w.finish()
}

func TestWithoutCapacityAnywhereTheRunSaysSo(t *testing.T) {
	t.Parallel()
	sizes := map[string]bool{}
	w := open(t, 2, ecstest.Options{Place: func(o ecstest.Order) string { sizes[o.CPU] = true; return "RESOURCE:MEMORY" }})
	w.reserve()
	w.pass(30 * time.Minute)
	if run := w.RunNow(w.run); run.State != task.StateLaunching || run.WaitingReason != task.WaitingCapacity {
		t.Errorf("run %s waits for %q", run.State, run.WaitingReason)
	}
	w.pass(45 * time.Minute)
	w.ended(task.EndNoCapacity)
	if len(sizes) != 2 {
		t.Errorf("sizes tried: %v", sizes)
	}
}
