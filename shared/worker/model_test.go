package worker_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"companyos/shared/agent/modeltest"
	"companyos/shared/app"
	"companyos/shared/app/apptest"
	"companyos/shared/executor"
	"companyos/shared/model/messages"
	"companyos/shared/task"
	"companyos/shared/worker"
)

// place is a Company whose plain runs ask scripted models.
type place struct {
	*apptest.Bench
	models *modeltest.Server
}

func newPlace(t *testing.T, executors string, scripts map[string][]modeltest.Step) *place {
	t.Helper()
	models, err := modeltest.StartModels("127.0.0.1:0", scripts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = models.Close() })
	prices, err := executor.ParsePrices([]byte("models:\n  dear: {input: 1000, output: 1000, cache_read: 0, cache_write: 0, date: 2026-01-31}\n"), "prices.yaml")
	if err != nil {
		t.Fatal(err)
	}
	registry, err := executor.Parse([]byte(executors), executor.Options{
		Prices: prices, Available: []executor.Harness{executor.HarnessModel, executor.HarnessTeam, executor.HarnessFixture},
	})
	if err != nil {
		t.Fatal(err)
	}
	p := &place{Bench: apptest.New(t, 1), models: models}
	p.Executors.Replace(registry)
	p.Runner = worker.Worker{Models: &messages.Provider{BaseURL: models.URL, Retries: -1}}.Run
	return p
}

// attempt does an attempt of a Task and returns how it ended.
func (p *place) attempt(tk task.Task, n int) task.Run {
	p.T.Helper()
	run := p.Start(tk.ID, n)
	p.Drain()
	return p.RunNow(run)
}

func (p *place) revise(tk task.Task, n int, why string) task.Run {
	p.T.Helper()
	started, err := p.StartRun(p.T.Context(), tk.ID, task.Start{Attempt: n, By: apptest.Alice(), Reason: why})
	if err != nil {
		p.T.Fatal(err)
	}
	p.Drain()
	return p.RunNow(started.RunID)
}

// said lists who said what in a request, in order.
func said(t *testing.T, body string) (all []string) {
	t.Helper()
	var in struct {
		Messages []struct {
			Role    string
			Content []struct{ Type, Text string }
		}
	}
	if err := json.Unmarshal([]byte(body), &in); err != nil {
		t.Fatal(err)
	}
	for _, m := range in.Messages {
		for _, c := range m.Content {
			all = append(all, m.Role+": "+c.Text)
		}
	}
	return all
}

// TestASessionGoesOn: a revision continues the conversation of the attempts before it, those that were completed, and the
// reviewer's words are the last in it.
func TestASessionGoesOn(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "agents:\n  - {id: writer, harness: model, model: m, instructions: Be brief.}\n", map[string][]modeltest.Step{
		"m": {{Say: "first draft"}, {Say: "second draft"}, {Say: "third draft"}},
	})
	tk := p.NewTask(task.ExecutorAgent, "writer")
	first := p.attempt(tk, 1)
	if first.State != task.StateCompleted || first.Content != "first draft" || first.Usage == nil || first.Usage.InputTokens != 100 || first.Usage.CostKnown || first.Usage.CostUSD != nil {
		t.Fatalf("%s %q %+v", first.State, first.Content, first.Usage)
	}
	second := p.revise(tk, 2, "longer, please")
	third := p.revise(tk, 3, "and shorter again")
	if second.Content != "second draft" || third.Content != "third draft" || first.SessionID != third.SessionID {
		t.Fatalf("%q %q", second.Content, third.Content)
	}
	requests := p.models.Requests()
	talk := said(t, requests[2].Body)
	if len(requests) != 3 || len(talk) != 5 || talk[1] != "assistant: first draft" || talk[3] != "assistant: second draft" ||
		!strings.Contains(talk[2], "longer, please") || !strings.Contains(talk[4], "and shorter again") || strings.Contains(talk[4], "longer, please") {
		t.Errorf("%q", talk)
	}
	if before := said(t, requests[1].Body); talk[0] != said(t, requests[0].Body)[0] || talk[2] != before[2] {
		t.Error("what was said before is put in other words")
	}
	if p.TaskNow(tk.ID).Status != task.StatusInReview {
		t.Error("not in review")
	}
	p.Check()
}

// TestAnotherExecutorDoesNotSpeakForTheFirst: its answer is what was reviewed, not what the new one said.
func TestAnotherExecutorDoesNotSpeakForTheFirst(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "agents:\n  - {id: a, harness: model, model: m}\n  - {id: b, harness: model, model: m}\n", map[string][]modeltest.Step{"m": {{Say: "one"}, {Say: "two"}}})
	tk := p.NewTask(task.ExecutorAgent, "a")
	p.attempt(tk, 1)
	if _, err := p.MoveTask(t.Context(), tk.ID, task.Move{Target: task.StatusBacklog, Reason: "another", By: apptest.Alice()}); err != nil {
		t.Fatal(err)
	}
	p.Accept(tk.ID, task.ExecutorAgent, "b")
	run := p.attempt(tk, 2)
	talk := said(t, p.models.Requests()[1].Body)
	if run.Content != "one" || len(talk) != 1 || !strings.Contains(talk[0], "The previous result, which was reviewed (COMPLETED)\n\none") {
		t.Errorf("%q %q", run.Content, talk)
	}
}

// TestARunEndsAsItsModelDoes: what ends a run is on the run, with what it used, and the Task can be tried again.
func TestARunEndsAsItsModelDoes(t *testing.T) {
	t.Parallel()
	executors := "agents:\n  - {id: a, harness: model, model: MODEL, limits: {run: 2s}}\n  - {id: f, harness: fixture}\n"
	for name, c := range map[string]struct {
		executors string
		model     string
		step      modeltest.Step
		kind      task.EndKind
		limit     string
		used      bool
	}{
		"refused":   {executors, "m", modeltest.Step{Fault: &modeltest.Fault{Status: 401}}, task.EndModelUnauthorized, "", false},
		"budget":    {strings.Replace(executors, "run: 2s", "budget_usd: 0.01", 1), "dear", modeltest.Step{Fault: &modeltest.Fault{Endless: true}}, task.EndBudgetExhausted, "budget", true},
		"output":    {strings.Replace(executors, "run: 2s", "output: 1KiB", 1), "m", modeltest.Step{Fault: &modeltest.Fault{Endless: true}}, task.EndOutputLimit, "output", true},
		"run limit": {strings.Replace(executors, "run: 2s", "run: 1s", 1), "m", modeltest.Step{Say: "late", Pause: time.Minute}, task.EndRunTimeout, "run", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, strings.Replace(c.executors, "MODEL", c.model, 1), map[string][]modeltest.Step{"": {c.step}})
			tk := p.NewTask(task.ExecutorAgent, "a")
			run := p.attempt(tk, 1)
			if run.State != task.StateError || run.Ended.Kind != c.kind || run.Ended.Limit != c.limit || (run.Usage != nil) != c.used {
				t.Errorf("%s %+v, usage %+v", run.State, run.Ended, run.Usage)
			}
			if u := run.Usage; u != nil && (u.CostKnown || u.CostUSD != nil || u.InputTokens == 0) {
				t.Errorf("a part of it is unknown: %+v", u)
			}
			if got := p.TaskNow(tk.ID); got.Status != task.StatusInProgress || got.Result == nil || got.LiveRunID != nil {
				t.Errorf("Task %s %+v", got.Status, got.Result)
			}
			p.Check()
		})
	}
}

// TestACancelReachesTheModel: an answer on its way is cut, and what it used until then is on the run.
func TestACancelReachesTheModel(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "agents:\n  - {id: a, harness: model, model: m}\n", map[string][]modeltest.Step{"m": {{Say: "late", Pause: time.Hour}}})
	tk := p.NewTask(task.ExecutorAgent, "a")
	runID := p.Start(tk.ID, 1)
	go func() {
		for len(p.models.Requests()) == 0 && t.Context().Err() == nil {
			time.Sleep(10 * time.Millisecond)
		}
		if err := p.CancelRun(context.WithoutCancel(t.Context()), apptest.Alice(), runID); err != nil {
			t.Error(err)
		}
	}()
	p.Drain()
	run := p.RunNow(runID)
	if run.State != task.StateCancelled || run.Content != task.CancelledRun || run.Usage == nil || run.Usage.InputTokens != 100 {
		t.Errorf("%s %q %+v", run.State, run.Content, run.Usage)
	}
	p.Check()
}

func TestWithoutAnyModel(t *testing.T) {
	t.Parallel()
	got := worker.Steps{}.Run(t.Context(), app.Job{Executor: executor.Executor{Harness: executor.HarnessModel}, Input: []byte("{}")})
	if got.Ended.Kind != task.EndHarnessMissing || got.Usage != nil {
		t.Errorf("%+v", got)
	}
}
