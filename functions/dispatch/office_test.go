package main

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"companyos/shared/app/apptest"
	"companyos/shared/cloud"
	"companyos/shared/config"
	"companyos/shared/sandbox"
	"companyos/shared/sandbox/fargate"
	"companyos/shared/sandbox/fargate/ecstest"
	"companyos/shared/task"
)

// office is a Company whose sandboxes are tasks of a fake ECS, and whose messages arrive as Lambda's batches.
type office struct {
	*apptest.Bench
	ecs    *ecstest.Server
	launch fargate.Config
	d      *dispatcher
	log    *buffer
	task   task.Task
	run    string
}

// buffer is a log that is read while it is written.
type buffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.String()
}

const batchSize = 10

// open returns an office with so many slots.
func open(t testing.TB, slots int, o ecstest.Options) *office {
	t.Helper()
	b := apptest.New(t, slots)
	if o.Now == nil {
		o.Now = b.Clock.Now
	}
	w := &office{Bench: b, ecs: ecstest.New(t, o), log: &buffer{}, launch: fargate.Config{
		Cluster: "company", TaskDefinition: "sandbox:1", Subnets: []string{"subnet-a", "subnet-b"}, SecurityGroups: []string{"sg"}, PublicIP: true,
	}}
	b.Log = cloud.NewLog(w.log)
	b.DispatchTimeout = config.DispatchTimeout
	w.redeploy()
	return w
}

// redeploy makes the dispatcher anew, as another environment of the function is.
func (w *office) redeploy() {
	launcher := fargate.New(w.ecs.Client(), w.launch)
	w.Sandboxes = launcher
	w.d = &dispatcher{company: w.Company, launcher: launcher, log: w.Log, searched: time.Now()}
}

// reserve starts the first attempt of a Task; its messages wait.
func (w *office) reserve() {
	w.T.Helper()
	w.task = w.NewTask(task.ExecutorAgent, apptest.Engineer)
	w.run = w.Start(w.task.ID, 1)
}

func record(id int, body string) events.SQSMessage {
	return events.SQSMessage{MessageId: fmt.Sprint(id), Body: body, Attributes: map[string]string{"ApproximateReceiveCount": "1"}}
}

func wake(runID string) string { return fmt.Sprintf(`{"v":1,"run":%q}`, runID) }

// handle hands bodies to the function as one batch and returns the positions of those that failed.
func (w *office) handle(ctx context.Context, bodies ...string) (failed []string) {
	var event events.SQSEvent
	for i, body := range bodies {
		event.Records = append(event.Records, record(i, body))
	}
	for _, f := range w.d.handle(ctx, event).BatchItemFailures {
		failed = append(failed, f.ItemIdentifier)
	}
	return failed
}

// deliver hands what is due to the function until nothing is. What failed comes again after the visibility timeout.
func (w *office) deliver() {
	w.T.Helper()
	for range 200 {
		due := w.Attempts.Due()
		if len(due) == 0 {
			return
		}
		for batch := range slices.Chunk(due, batchSize) {
			bodies := make([]string, len(batch))
			for i, m := range batch {
				bodies[i] = wake(m.RunID)
			}
			failed := w.handle(w.T.Context(), bodies...)
			for i, m := range batch {
				w.Attempts.Delete(m)
				if slices.Contains(failed, fmt.Sprint(i)) {
					w.T.Fatalf("a message failed: %s", w.log)
				}
			}
		}
	}
	w.T.Fatal("the queue never runs dry")
}

// pass lets time pass message by message.
func (w *office) pass(d time.Duration) {
	w.T.Helper()
	for end := w.Clock.Now().Add(d); ; {
		w.deliver()
		next, ok := w.Attempts.Next()
		if !ok || next.After(end) {
			w.Travel(max(end.Sub(w.Clock.Now()), 0))
			w.deliver()
			return
		}
		w.Travel(max(next.Sub(w.Clock.Now()), time.Millisecond))
	}
}

// only is the one task that was ever started.
func (w *office) only() ecstest.Task {
	w.T.Helper()
	tasks := w.ecs.Tasks()
	if len(tasks) != 1 {
		w.T.Fatalf("%d sandboxes were started: %+v\n%s", len(tasks), tasks, w.log)
	}
	return tasks[0]
}

// supervise plays the supervisor in a task.
func (w *office) supervise(t ecstest.Task) *apptest.Supervisor {
	w.ecs.Run(t.ARN)
	return w.Supervise(&apptest.Box{Handle: t.ARN, Spec: sandbox.Spec{RunID: w.run, Token: t.Order.Env[fargate.EnvToken]}})
}

// finish lets the only sandbox do its work, and expects the Task in review.
func (w *office) finish() {
	w.T.Helper()
	one := w.only()
	s := w.supervise(one)
	for _, step := range []func(context.Context) error{s.Claim, s.Prepare, s.Upload, s.Report} {
		w.must(step(w.T.Context()))
	}
	w.ecs.Exit(one.ARN, ecstest.Exited(0))
	w.pass(time.Minute)
	run := w.RunNow(w.run)
	if run.State != task.StateCompleted || run.StoppedAt == nil || w.TaskNow(w.task.ID).Status != task.StatusInReview {
		w.T.Errorf("run %s, stopped %v, Task %s", run.State, run.StoppedAt, w.TaskNow(w.task.ID).Status)
	}
	w.check()
}

// check fails the test where an invariant does not hold, a launch had two sandboxes, or one runs for a settled run.
func (w *office) check() {
	w.T.Helper()
	w.Check()
	seen := map[string]int{}
	for _, t := range w.ecs.Tasks() {
		if seen[t.Order.StartedBy]++; seen[t.Order.StartedBy] > 1 {
			w.T.Errorf("I2: %s was started twice", t.Order.StartedBy)
		}
	}
}

// ended expects how the run ended.
func (w *office) ended(kind task.EndKind) task.Run {
	w.T.Helper()
	run := w.RunNow(w.run)
	if run.State != task.StateError || run.Ended == nil || run.Ended.Kind != kind || run.StoppedAt == nil && run.Launch > 0 {
		w.T.Errorf("run %s, ended %+v, stopped %v; want %s\n%s", run.State, run.Ended, run.StoppedAt, kind, w.log)
	}
	w.check()
	return run
}

func (w *office) must(err error) {
	w.T.Helper()
	if err != nil {
		w.T.Fatal(err)
	}
}
