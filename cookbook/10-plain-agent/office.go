package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"companyos/cookbook/desk"
	"companyos/shared/agent/modeltest"
	"companyos/shared/api"
	"companyos/shared/company"
	"companyos/shared/executor"
	"companyos/shared/local"
	"companyos/shared/model/messages"
	"companyos/shared/task"
	"companyos/shared/wire"
	"companyos/shared/worker"
)

const executors = `agents:
  - {id: writer, name: Writer, harness: model, model: small, instructions: You write announcements.}
  - {id: editor, harness: model, model: large, instructions: Let the writer draft. Answer with what is to be published.}
  - {id: pauper, harness: model, model: wordy, limits: {budget_usd: 0.001}}
teams:
  - {id: press, leader: editor, members: [writer], limits: {run: 5m, budget_usd: 1}}
`

// prices are made up, as the models are.
const prices = `models:
  small: {input: 1, output: 5, cache_read: 0.1, cache_write: 1.25, date: 2026-01-31}
  large: {input: 3, output: 15, cache_read: 0.3, cache_write: 3.75, date: 2026-01-31}
  wordy: {input: 1, output: 5, cache_read: 0.1, cache_write: 1.25, date: 2026-01-31}
`

// scripts are what each model says, answer by answer of one conversation.
func scripts() map[string][]modeltest.Step {
	return map[string][]modeltest.Step{
		"small": {{Say: "We released it."}, {Say: "We released it on Monday."}},
		"large": {
			{Call: &modeltest.Call{Tool: "ask_writer", Input: map[string]any{"message": "Announce the release in one sentence."}}},
			{Say: "Out now. {tool}"},
		},
		"wordy": {{Fault: &modeltest.Fault{Endless: true}}},
	}
}

// office is a Company on this machine with models beside it.
type office struct {
	*wire.Client
	company   *local.Company
	models    *modeltest.Server
	folder    string
	productID string
	projectID string
}

func open(ctx context.Context, log io.Writer) (o *office, err error) {
	o = &office{}
	defer func() {
		if err != nil {
			err = errors.Join(err, o.close(ctx))
		}
	}()
	if o.folder, err = os.MkdirTemp("", "company-example-"); err != nil {
		return o, err
	}
	if o.models, err = modeltest.StartModels("127.0.0.1:0", scripts()); err != nil {
		return o, err
	}
	known, err := executor.ParsePrices([]byte(prices), "prices.yaml")
	if err != nil {
		return o, err
	}
	registry, err := executor.Parse([]byte(executors), executor.Options{Available: local.Available(), Prices: known})
	if err != nil {
		return o, err
	}
	data := filepath.Join(o.folder, "company")
	if err := os.MkdirAll(filepath.Join(data, "secrets"), 0o700); err != nil {
		return o, err
	}
	if err := os.WriteFile(filepath.Join(data, "secrets", messages.KeyName), []byte("a key of no worth\n"), 0o600); err != nil {
		return o, err
	}
	o.company, err = local.Start(ctx, local.Config{
		Addr: "127.0.0.1:0", Data: data, Throwaway: true, Executors: executor.Static(registry),
		Runner: worker.Worker{Models: &messages.Provider{BaseURL: o.models.URL}}.Run, Auth: api.AuthConfig{Audience: "company"},
		MaxSandboxes: 1, MaxPending: 100, Log: slog.New(slog.NewTextHandler(log, nil)),
	})
	if err != nil {
		return o, err
	}
	token, err := o.company.Token("alice")
	if err != nil {
		return o, err
	}
	o.Client = wire.NewClient(o.company.URL, token, nil)
	return o, o.furnish(ctx)
}

// furnish makes a Product with an active Project.
func (o *office) furnish(ctx context.Context) error {
	product, err := o.CreateProduct(ctx, wire.ProductCreate{Name: "Widget"})
	if err != nil {
		return err
	}
	project, err := o.CreateProject(ctx, wire.ProjectCreate{ProductID: product.ID, Name: "Launch"})
	if err != nil {
		return err
	}
	o.productID, o.projectID = product.ID, project.ID
	_, err = o.MoveProject(ctx, project.ID, wire.ProjectTransition{Target: company.ProjectActive, Reason: "go"})
	return err
}

// accepted adds a Task that Alice accepted for an executor.
func (o *office) accepted(ctx context.Context, title string, kind task.ExecutorKind, id string) (string, error) {
	brief := "Announce the release of Widget 2 to the people who use it."
	t, err := o.CreateTask(ctx, wire.TaskCreate{ProductID: o.productID, ProjectID: o.projectID, Title: title, Brief: &brief})
	if err != nil {
		return "", err
	}
	_, err = o.MoveTask(ctx, t.ID, wire.TaskTransition{Target: task.StatusReady, Reason: "go", ExecutorType: &kind, ExecutorID: &id})
	return t.ID, err
}

// settled waits until nobody works on a Task.
func (o *office) settled(ctx context.Context, id string) (t wire.Task, err error) {
	err = desk.Until(ctx, func() (bool, error) {
		t, err = o.Task(ctx, id)
		return t.Status != task.StatusInProgress || t.Result != nil, err
	})
	return t, err
}

// talk is who spoke in the latest request: the conversation that it goes on with.
func (o *office) talk() (roles []string) {
	requests := o.models.Requests()
	var in struct{ Messages []struct{ Role string } }
	if json.Unmarshal([]byte(requests[len(requests)-1].Body), &in) != nil {
		return nil
	}
	for _, m := range in.Messages {
		roles = append(roles, m.Role)
	}
	return roles
}

func (o *office) close(ctx context.Context) error {
	var err error
	if o.company != nil {
		err = o.company.Close(ctx)
	}
	if o.models != nil {
		err = errors.Join(err, o.models.Close())
	}
	return errors.Join(err, os.RemoveAll(o.folder))
}
