package apptest

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"companyos/shared/app"
	"companyos/shared/company"
	"companyos/shared/executor"
	"companyos/shared/store/storetest"
	"companyos/shared/task"
)

// What every Bench has.
const (
	Repository = "https://github.com/octocat/Hello-World"
	Branch     = "master"
	Engineer   = "engineer" // a sandboxed agent on Repository
	Reviewer   = "reviewer" // another one
	Notes      = "notes"    // a workflow
)

// Alice may do anything.
func Alice() task.Caller { return task.Caller{ID: "alice", Scopes: []string{task.AdminScope}} }

// Bench is a Company on a database of its own.
type Bench struct {
	*app.Company
	T         testing.TB
	Clock     *Clock
	Fleet     *Fleet
	Attempts  *Queue
	Work      *Queue
	Blobs     *Blobs
	Executors *executor.Source
	ProductID string
	ProjectID string
	SourceID  string
	Runner    app.Runner // of plain runs
}

// New returns a Bench with one Product, its git Source and one Project, and so many slots.
func New(tb testing.TB, slots int) *Bench {
	tb.Helper()
	clock := &Clock{}
	b := &Bench{
		T: tb, Clock: clock, Fleet: &Fleet{clock: clock, calls: map[string]int{}}, Attempts: &Queue{clock: clock},
		Work: &Queue{clock: clock}, Blobs: &Blobs{data: map[string][]byte{}}, Executors: executor.Static(registry(tb)),
		Runner: func(context.Context, app.Job) task.Outcome { return task.OutcomeOf(task.EndCompleted, "workflow done") },
	}
	b.Company = app.New(app.Config{
		DB: storetest.Open(tb), Blobs: b.Blobs, Attempts: b.Attempts, Work: b.Work, Sandboxes: b.Fleet, Executors: b.Executors,
		Log: slog.New(slog.DiscardHandler), Clock: time.Now, MaxSandboxes: slots, MaxPending: 1000,
		DispatchTimeout: time.Minute, ExecuteTimeout: 15 * time.Minute, PublicURL: "https://company.example",
		Secrets: func(_ context.Context, names []string) (map[string]string, error) {
			values := map[string]string{}
			for _, n := range names {
				values[n] = "value of " + n
			}
			return values, nil
		},
	})
	b.seed()
	return b
}

func registry(tb testing.TB) *executor.Registry {
	tb.Helper()
	limits := executor.SandboxLimits()
	limits.CancelGrace = 20 * time.Second
	agent := executor.Executor{
		Kind: task.ExecutorAgent, Harness: executor.HarnessFixture, Limits: limits,
		Repository: &executor.Repository{URL: Repository, Branch: Branch},
		Sandbox:    &executor.Sandbox{CPU: 1024, Memory: 2048, Disk: 21, Secrets: []string{"GITHUB_READ_TOKEN"}},
	}
	engineer, reviewer := agent, agent
	engineer.ID, reviewer.ID = Engineer, Reviewer
	r, err := executor.NewRegistry([]executor.Harness{executor.HarnessFixture, executor.HarnessWorkflow}, engineer, reviewer,
		executor.Executor{Kind: task.ExecutorWorkflow, ID: Notes, Steps: []string{"collect"}})
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

func (b *Bench) seed() {
	b.T.Helper()
	ctx := b.T.Context()
	product, err := b.CreateProduct(ctx, Alice(), app.ProductInput{Name: "Product"})
	b.must(err)
	b.ProductID = product.ID
	source, err := b.CreateSource(ctx, Alice(), company.NewSource{ProductID: product.ID, Type: company.SourceGit, Reference: Repository})
	b.must(err)
	b.SourceID = source.ID
	project, err := b.CreateProject(ctx, Alice(), app.ProjectInput{ProductID: product.ID, Name: "Project"})
	b.must(err)
	b.ProjectID = project.ID
}

func (b *Bench) must(err error) {
	b.T.Helper()
	if err != nil {
		b.T.Fatal(err)
	}
}

// NewTask adds a Task that was accepted for an executor.
func (b *Bench) NewTask(kind task.ExecutorKind, id string) task.Task {
	b.T.Helper()
	brief := "Answer with the first line of the README."
	t, err := b.CreateTask(b.T.Context(), Alice(), app.TaskInput{ProductID: b.ProductID, ProjectID: b.ProjectID, Title: "Task", Brief: &brief})
	b.must(err)
	b.Accept(t.ID, kind, id)
	return b.TaskNow(t.ID)
}

// Accept accepts a Task.
func (b *Bench) Accept(taskID string, kind task.ExecutorKind, id string) {
	b.T.Helper()
	_, err := b.MoveTask(b.T.Context(), taskID, task.Move{
		Target: task.StatusReady, Reason: "do it", Executor: &task.ExecutorRef{Kind: kind, ID: id}, By: Alice(),
	})
	b.must(err)
}

// Start starts an attempt and returns its run's id.
func (b *Bench) Start(taskID string, attempt int) string {
	b.T.Helper()
	started, err := b.StartRun(b.T.Context(), taskID, task.Start{Attempt: attempt, By: Alice()})
	b.must(err)
	return started.RunID
}

// TaskNow and RunNow read what is stored.
func (b *Bench) TaskNow(id string) task.Task {
	b.T.Helper()
	t, err := b.DB.Task(b.T.Context(), id)
	b.must(err)
	return t.Task
}

// RunNow reads a run.
func (b *Bench) RunNow(id string) task.Run {
	b.T.Helper()
	r, err := b.DB.Run(b.T.Context(), id)
	b.must(err)
	return r
}

// times are the columns of runs that hold a moment.
const times = "due_at start_until run_until token_until calling_until claimed_at lease_until cancel_at prepared_at stopped_at waiting_since ended_at"

// Travel lets time pass: for the doubles, and for every run.
func (b *Bench) Travel(d time.Duration) {
	b.T.Helper()
	b.Clock.travel(d)
	columns := strings.Fields(times)
	for i, c := range columns {
		columns[i] = c + " = " + c + " - $1::bigint * interval '1 microsecond'"
	}
	for {
		_, err := b.DB.Pool().Exec(b.T.Context(), "UPDATE runs SET "+strings.Join(columns, ", "), d.Microseconds())
		if err == nil || !strings.Contains(err.Error(), "40001") {
			b.must(err)
			return
		}
	}
}

// Deliver hands a message to its handler and deletes it, unless the handler failed or died: then it comes again.
func (b *Bench) Deliver(q *Queue, m Message) {
	b.T.Helper()
	if b.Handle(q, m.RunID) {
		q.Delete(m)
	}
}

// Handle calls the handler of a queue for a run and says whether it came back without an error.
func (b *Bench) Handle(q *Queue, runID string) (ok bool) {
	b.T.Helper()
	defer func() {
		if p := recover(); p != nil {
			if _, died := p.(Crash); !died {
				panic(p)
			}
			ok = false
		}
	}()
	var err error
	if q == b.Work {
		err = b.Execute(b.T.Context(), runID, b.Runner)
	} else {
		err = b.Advance(b.T.Context(), runID)
	}
	if err != nil && !errors.Is(err, ErrFault) && task.KindOf(err) != task.KindUnavailable {
		b.T.Fatalf("handler of %s: %v", runID, err)
	}
	return err == nil
}

// Drain delivers what is due until nothing is.
func (b *Bench) Drain() {
	b.T.Helper()
	for range 1000 {
		due := 0
		for _, q := range []*Queue{b.Attempts, b.Work} {
			for _, m := range q.Due() {
				b.Deliver(q, m)
				due++
			}
		}
		if due == 0 {
			return
		}
	}
	b.T.Fatal("the queues never run dry")
}

// Pass lets time pass message by message: everything is delivered when it is due.
func (b *Bench) Pass(d time.Duration) {
	b.T.Helper()
	end := b.Clock.Now().Add(d)
	for {
		b.Drain()
		next, ok := b.soonest()
		left := time.Until(end.Add(-b.offset()))
		if !ok || next.After(end) {
			b.Travel(max(left, 0))
			b.Drain()
			return
		}
		b.Travel(max(next.Sub(b.Clock.Now()), time.Millisecond))
	}
}

func (b *Bench) offset() time.Duration {
	b.Clock.mu.Lock()
	defer b.Clock.mu.Unlock()
	return b.Clock.offset
}

func (b *Bench) soonest() (at time.Time, ok bool) {
	for _, q := range []*Queue{b.Attempts, b.Work} {
		if next, some := q.Next(); some && (!ok || next.Before(at)) {
			at, ok = next, true
		}
	}
	return at, ok
}

// Check fails the test for every invariant that does not hold.
func (b *Bench) Check() {
	b.T.Helper()
	broken, err := b.DB.Invariants(b.T.Context())
	b.must(err)
	for _, line := range broken {
		b.T.Error(line)
	}
}

// Warm opens so many connections, so that as many handlers really run at once.
func (b *Bench) Warm(connections int) {
	b.T.Helper()
	var all sync.WaitGroup
	for range connections {
		all.Go(func() {
			if _, err := b.DB.Pool().Exec(b.T.Context(), "SELECT pg_sleep(0.05)"); err != nil {
				b.T.Error(err)
			}
		})
	}
	all.Wait()
}
