// Package desk is a Company on this machine for the examples of the automation: one Product with an active Project, a
// folder of notes as its Source, and workflows that play the executors.
package desk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"companyos/shared/api"
	"companyos/shared/app"
	"companyos/shared/company"
	"companyos/shared/executor"
	"companyos/shared/local"
	"companyos/shared/queue"
	"companyos/shared/task"
	"companyos/shared/wire"
	"companyos/shared/worker"
)

// Desk is where an example sits.
type Desk struct {
	*wire.Client // Alice's
	Company      *local.Company
	Executors    *executor.Source
	Notes        string // the folder of the Source
	ProductID    string
	ProjectID    string
	SourceID     string

	folder string
	remove bool
}

// The workflows of every Desk: one does Tasks, the others are what Routines run.
const executors = `workflows:
  - {id: fixer, steps: [fix]}
  - {id: scanner, steps: [scan]}
  - {id: keeper, steps: [tidy]}
`

// Steps do Tasks and run Routines without any model.
func Steps() worker.Steps {
	return worker.Steps{
		"fix":  func(context.Context, worker.StepInput) (string, error) { return "fixed", nil },
		"scan": scan,
		"tidy": func(ctx context.Context, in worker.StepInput) (string, error) {
			done, err := in.Routine.Refresh(ctx)
			return fmt.Sprintf("archived %d Tasks, proposed %d completions", len(done.ArchivedTasks), len(done.CompletionProposals)), err
		},
	}
}

// scan proposes a Task for every note, as an agent would for every problem that it finds.
func scan(ctx context.Context, in worker.StepInput) (string, error) {
	sources, err := in.Routine.Sources(ctx)
	if err != nil {
		return "", err
	}
	project, err := in.Routine.ProposeProject(ctx, "Notes", nil)
	if err != nil {
		return "", err
	}
	n := 0
	for _, s := range sources {
		read, err := in.Routine.ReadSource(ctx, s.ID)
		if err != nil {
			return "", err
		}
		for _, note := range read {
			_, err := in.Routine.Propose(ctx, app.Proposal{
				SourceID: s.ID, ProjectID: project.ID, Title: "Look into " + filepath.Base(note.Path), Key: note.Path,
				Links: []string{note.Link}, Hashes: map[string]string{note.Link: note.ContentHash},
			})
			if err != nil {
				return "", err
			}
			n++
		}
	}
	return fmt.Sprintf("%d notes", n), nil
}

// Tell is a story for example.Main, at a Desk in a temporary folder with two notes.
func Tell(story func(ctx context.Context, d *Desk) error) func(context.Context, io.Writer) error {
	return func(ctx context.Context, log io.Writer) (err error) {
		d, err := open(ctx, log, map[string]string{"login.md": "The login fails.\n", "logout.md": "So does the logout.\n"})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, d.Close(ctx)) }()
		return story(ctx, d)
	}
}

func open(ctx context.Context, log io.Writer, notes map[string]string) (d *Desk, err error) {
	folder, err := os.MkdirTemp("", "company-example-")
	if err != nil {
		return nil, err
	}
	if d, err = OpenIn(ctx, folder, Steps(), log, false); err != nil {
		return nil, errors.Join(err, os.RemoveAll(folder))
	}
	d.remove = true
	for name, text := range notes {
		if err := d.Write(name, text); err != nil {
			return nil, errors.Join(err, d.Close(ctx))
		}
	}
	if err := d.Furnish(ctx); err != nil {
		return nil, errors.Join(err, d.Close(ctx))
	}
	return d, nil
}

// OpenIn opens a Desk in a folder, whatever is in it. With held nobody works until Company.Work.Hold(false).
func OpenIn(ctx context.Context, folder string, steps worker.Steps, log io.Writer, held bool) (*Desk, error) {
	d := &Desk{folder: folder, Notes: filepath.Join(folder, "notes")}
	if err := os.MkdirAll(d.Notes, 0o755); err != nil {
		return nil, err
	}
	registry, err := executor.Parse([]byte(executors), executor.Options{Available: local.Available(), Steps: steps.Names()})
	if err != nil {
		return nil, err
	}
	d.Executors = executor.Static(registry)
	d.Company, err = local.Start(ctx, local.Config{
		Addr: "127.0.0.1:0", Data: filepath.Join(folder, "company"), Throwaway: true, Executors: d.Executors, Runner: steps.Run,
		Auth: api.AuthConfig{Audience: "company"}, Sources: folder, MaxSandboxes: 1, MaxPending: 100, Work: queue.LocalConfig{Held: held}, Log: slog.New(slog.NewTextHandler(log, nil)),
	})
	if err != nil {
		return nil, err
	}
	token, err := d.Company.Token("alice")
	d.Client = wire.NewClient(d.Company.URL, token, nil)
	return d, err
}

// Furnish makes the Product, its active Project and its Source.
func (d *Desk) Furnish(ctx context.Context) error {
	product, err := d.CreateProduct(ctx, wire.ProductCreate{Name: "Widget"})
	if err != nil {
		return err
	}
	project, err := d.CreateProject(ctx, wire.ProjectCreate{ProductID: product.ID, Name: "Upkeep"})
	if err != nil {
		return err
	}
	if _, err := d.MoveProject(ctx, project.ID, wire.ProjectTransition{Target: company.ProjectActive, Reason: "go"}); err != nil {
		return err
	}
	notes, err := d.CreateSource(ctx, wire.SourceCreate{ProductID: product.ID, Source: wire.Source{Type: company.SourceMarkdown, Reference: d.Notes}})
	d.ProductID, d.ProjectID, d.SourceID = product.ID, project.ID, notes.ID
	return err
}

// Write writes a note.
func (d *Desk) Write(name, text string) error {
	return os.WriteFile(filepath.Join(d.Notes, name), []byte(text), 0o644)
}

// Routine adds a Routine that a workflow runs.
func (d *Desk) Routine(ctx context.Context, name, template, workflow string, rule *wire.AutoAcceptRule) (wire.RoutineRecord, error) {
	return d.CreateRoutine(ctx, wire.RoutineCreate{ProductID: d.ProductID, Routine: wire.Routine{
		Name: name, Template: &template, ExecutorType: task.ExecutorWorkflow, ExecutorID: workflow, AutoAccept: wire.FalseOr[wire.AutoAcceptRule]{V: rule},
	}})
}

// Rule accepts so many proposals for the fixer, within the next hour.
func Rule(most int64, checks ...string) *wire.AutoAcceptRule {
	return &wire.AutoAcceptRule{
		ExecutorType: task.ExecutorWorkflow, ExecutorID: "fixer", RequiredChecks: checks,
		Limits: wire.AcceptanceLimits{MaxAcceptances: &most, ExpiresAt: time.Now().Add(time.Hour).Unix()},
	}
}

// Accepted adds a Task that Alice accepted for the fixer.
func (d *Desk) Accepted(ctx context.Context, title string) (wire.Task, error) {
	t, err := d.CreateTask(ctx, wire.TaskCreate{ProductID: d.ProductID, ProjectID: d.ProjectID, Title: title})
	if err != nil {
		return t, err
	}
	kind, id := task.ExecutorWorkflow, "fixer"
	return d.MoveTask(ctx, t.ID, wire.TaskTransition{Target: task.StatusReady, Reason: "go", ExecutorType: &kind, ExecutorID: &id})
}

const (
	patience = time.Minute
	pause    = 20 * time.Millisecond
)

// Until waits for something.
func Until(ctx context.Context, ok func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		done, err := ok()
		if err != nil || done {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

// Ran triggers a Routine and waits for the end of its run.
func (d *Desk) Ran(ctx context.Context, id string) (run wire.ScheduleRun, err error) {
	if run, err = d.TriggerRoutine(ctx, id); err != nil {
		return run, err
	}
	fmt.Println("trigger:", run.Status)
	err = Until(ctx, func() (bool, error) {
		runs, err := d.RoutineRuns(ctx, id, wire.List{})
		if err == nil {
			run = runs.Data[0]
		}
		return run.Status != "running", err
	})
	return run, err
}

// Tick runs the automation once and prints what it did.
func (d *Desk) Tick(ctx context.Context) error {
	tick, err := d.Company.App.Tick(ctx)
	if err != nil {
		return err
	}
	fmt.Println("tick:", tick.Status)
	for _, o := range tick.Tasks {
		t, err := d.Task(ctx, o.TaskID)
		if err != nil {
			return err
		}
		fmt.Printf("  %s: %s%s\n", t.Title, o.Status, because(o))
	}
	for _, o := range tick.Projects {
		fmt.Printf("  Project: %s%s\n", o.Status, because(o))
	}
	return nil
}

func because(o app.TickOutcome) string {
	switch {
	case o.Reason != "":
		return ", " + o.Reason
	case o.Action != "":
		return ", " + o.Action
	}
	return ""
}

// Settled waits until nobody works on a Task.
func (d *Desk) Settled(ctx context.Context, id string) (t wire.Task, err error) {
	err = Until(ctx, func() (bool, error) {
		t, err = d.Task(ctx, id)
		return t.Status != task.StatusInProgress || t.Result != nil, err
	})
	return t, err
}

// Close ends it.
func (d *Desk) Close(ctx context.Context) error {
	err := d.Company.Close(ctx)
	if d.remove {
		err = errors.Join(err, os.RemoveAll(d.folder))
	}
	return err
}
