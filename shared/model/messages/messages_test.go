package messages_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"companyos/shared/agent/modeltest"
	"companyos/shared/executor"
	"companyos/shared/model"
	"companyos/shared/model/messages"
	"companyos/shared/task"
)

const key = "sk-of-the-test"

func secrets(context.Context, []string) (map[string]string, error) {
	return map[string]string{messages.KeyName: key}, nil
}

func start(t *testing.T, steps ...modeltest.Step) *modeltest.Server {
	t.Helper()
	server, err := modeltest.Start("127.0.0.1:0", steps...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	return server
}

// setup is an agent that is not open yet.
type setup struct {
	model.Config
	Provider *messages.Provider
}

func config(server *modeltest.Server, limits executor.Limits) setup {
	return setup{
		Provider: &messages.Provider{BaseURL: server.URL, Retries: -1, Silence: 300 * time.Millisecond},
		Config:   model.Config{Secrets: secrets, Meter: model.NewMeter(limits), Model: "m", System: "You are careful.", Turns: 3},
	}
}

func ask(ctx context.Context, c setup, question string) (string, *model.EndError) {
	agent, failed := c.Provider.Open(ctx, c.Config)
	if failed != nil {
		return "", failed
	}
	return agent.Answer(ctx, question)
}

func TestAnAnswerWithToolsAndEarlierTurns(t *testing.T) {
	t.Parallel()
	server := start(t, modeltest.Step{Say: "the first"}, modeltest.Step{Call: &modeltest.Call{Tool: "add", Input: map[string]any{"a": 2, "b": 3}}}, modeltest.Step{Say: "It is {tool}."})
	c := config(server, executor.Limits{})
	c.Earlier = []model.Turn{{Asked: "before", Answered: "the first"}}
	c.Price = &executor.Price{Input: 1, Output: 10, CacheRead: 0.1, CacheWrite: 2}
	c.Tools = []model.Tool{{Name: "add", Description: "Adds.", Properties: map[string]any{"a": map[string]any{"type": "integer"}}, Required: []string{"a"}, Call: func(_ context.Context, in json.RawMessage) (string, error) {
		var v struct{ A, B int }
		if err := json.Unmarshal(in, &v); err != nil || v.A+v.B != 5 {
			t.Errorf("input %s", in)
		}
		return "5", nil
	}}}
	answer, failed := ask(t.Context(), c, "how much?")
	if failed != nil || answer != "It is 5." {
		t.Fatalf("%q, %v", answer, failed)
	}
	requests := server.Requests()
	if len(requests) != 2 || requests[0].Key != key || requests[0].Answer != 1 || !strings.Contains(requests[0].Body, `"You are careful."`) || strings.Contains(requests[1].Body, key) {
		t.Errorf("%+v", requests)
	}
	u := c.Meter.Usage()
	if u == nil || u.InputTokens != 200 || u.OutputTokens != 80 || u.CacheReadTokens != 100 || u.CacheWriteTokens != 14 || !u.CostKnown {
		t.Fatalf("usage %+v", u)
	}
	if want := (200*1 + 80*10 + 100*0.1 + 14*2) / 1e6; *u.CostUSD < want*0.999 || *u.CostUSD > want*1.001 {
		t.Errorf("cost %v, want %v", *u.CostUSD, want)
	}
}

// TestEnds is the table of what ends a run: each has its kind, and a text that says what happened.
func TestEnds(t *testing.T) {
	t.Parallel()
	refuse := func(status int, kind, message string) modeltest.Step {
		return modeltest.Step{Fault: &modeltest.Fault{Status: status, Body: `{"type":"error","error":{"type":"` + kind + `","message":"` + message + `"}}`}}
	}
	price := &executor.Price{Input: 1, Output: 1000}
	tool := modeltest.Step{Call: &modeltest.Call{Tool: "none"}}
	for name, c := range map[string]struct {
		steps  []modeltest.Step
		limits executor.Limits
		kind   task.EndKind
		text   string
		asked  bool // a model answered, at least in part
	}{
		"no such key":       {[]modeltest.Step{refuse(401, "authentication_error", "invalid x-api-key")}, executor.Limits{}, task.EndModelUnauthorized, "answered 401: invalid x-api-key", false},
		"not allowed":       {[]modeltest.Step{refuse(403, "permission_error", "no")}, executor.Limits{}, task.EndModelUnauthorized, "403", false},
		"no such model":     {[]modeltest.Step{refuse(404, "not_found_error", "model: m")}, executor.Limits{}, task.EndModelRejected, "model: m", false},
		"rejected":          {[]modeltest.Step{refuse(400, "invalid_request_error", "no")}, executor.Limits{}, task.EndModelRejected, "400", false},
		"too long":          {[]modeltest.Step{refuse(400, "invalid_request_error", "prompt is too long: 250000 tokens")}, executor.Limits{}, task.EndContextExceeded, "too long", false},
		"no credit":         {[]modeltest.Step{refuse(400, "invalid_request_error", "Your credit balance is too low")}, executor.Limits{}, task.EndUsageLimit, "credit", false},
		"rate limit":        {[]modeltest.Step{refuse(429, "rate_limit_error", "slow down")}, executor.Limits{}, task.EndUsageLimit, "slow down", false},
		"overloaded":        {[]modeltest.Step{refuse(529, "overloaded_error", "Overloaded")}, executor.Limits{}, task.EndModelUnavailable, "Overloaded", false},
		"broken":            {[]modeltest.Step{{Fault: &modeltest.Fault{Status: 502, Body: "<html>"}}}, executor.Limits{}, task.EndModelUnavailable, "502", false},
		"cut":               {[]modeltest.Step{{Fault: &modeltest.Fault{Cut: true}}}, executor.Limits{}, task.EndModelUnavailable, "broke off", true},
		"garbage":           {[]modeltest.Step{{Fault: &modeltest.Fault{Garbage: true}}}, executor.Limits{}, task.EndModelUnavailable, "broke off", false},
		"silence":           {[]modeltest.Step{{Fault: &modeltest.Fault{Hang: true}}}, executor.Limits{}, task.EndModelUnavailable, "nothing for 300ms", false},
		"endless":           {[]modeltest.Step{{Fault: &modeltest.Fault{Endless: true}}}, executor.Limits{BudgetUSD: 0.01}, task.EndBudgetExhausted, "budget", true},
		"much":              {[]modeltest.Step{{Fault: &modeltest.Fault{Endless: true}}}, executor.Limits{Output: 1000}, task.EndOutputLimit, "output limit", true},
		"a dear tool call":  {[]modeltest.Step{{Call: tool.Call, Output: 1000}, {Say: "x"}}, executor.Limits{BudgetUSD: 0.01}, task.EndBudgetExhausted, "budget", true},
		"a dear question":   {[]modeltest.Step{{Say: "x", Input: 1e6}}, executor.Limits{BudgetUSD: 0.5}, task.EndBudgetExhausted, "budget", true},
		"cut at its length": {[]modeltest.Step{{Say: "x", Stop: "max_tokens"}}, executor.Limits{}, task.EndOutputLimit, "cut off", true},
		"a refusal":         {[]modeltest.Step{{Say: "x", Stop: "refusal"}}, executor.Limits{}, task.EndModelRejected, "refused", true},
		"no room left":      {[]modeltest.Step{{Say: "x", Stop: "model_context_window_exceeded"}}, executor.Limits{}, task.EndContextExceeded, "longer", true},
		"nothing said":      {[]modeltest.Step{{Say: " "}}, executor.Limits{}, task.EndNoOutput, "without an answer", true},
		"tools for ever":    {[]modeltest.Step{tool}, executor.Limits{}, task.EndFailed, "all of its 3 turns", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conf := config(start(t, c.steps...), c.limits)
			conf.Price, conf.Tools = price, []model.Tool{{Name: "other"}}
			answer, failed := ask(t.Context(), conf, "q")
			if failed == nil || failed.Kind != c.kind || !strings.Contains(failed.Text, c.text) || strings.Contains(failed.Text, key) {
				t.Errorf("%q, %+v; want %s %q", answer, failed, c.kind, c.text)
			}
			if u := conf.Meter.Usage(); (u != nil) != c.asked {
				t.Errorf("usage %+v", u)
			}
		})
	}
}

// TestWhatIsNotKnownIsNotZero: a cost is told when all of it is known.
func TestWhatIsNotKnownIsNotZero(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		step  modeltest.Step
		price *executor.Price
		known bool
	}{
		"priced":   {modeltest.Step{Say: "x"}, &executor.Price{Input: 1}, true},
		"unpriced": {modeltest.Step{Say: "x"}, nil, false},
		"cut":      {modeltest.Step{Fault: &modeltest.Fault{Cut: true}}, &executor.Price{Input: 1}, false},
	} {
		conf := config(start(t, c.step), executor.Limits{})
		conf.Price = c.price
		_, _ = ask(t.Context(), conf, "q")
		u := conf.Meter.Usage()
		if u == nil || u.CostKnown != c.known || (u.CostUSD != nil) != c.known || u.InputTokens != 100 {
			t.Errorf("%s: %+v", name, u)
		}
	}
}

func TestACancelEndsTheAnswer(t *testing.T) {
	t.Parallel()
	conf := config(start(t, modeltest.Step{Fault: &modeltest.Fault{Hang: true}}), executor.Limits{})
	conf.Provider.Silence = time.Hour
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, failed := ask(ctx, conf, "q"); failed == nil || failed.Kind != task.EndCancelled || !errors.Is(failed, context.DeadlineExceeded) {
		t.Errorf("%+v", failed)
	}
}

func TestARefusalThatPassesIsRepeated(t *testing.T) {
	t.Parallel()
	server := start(t, modeltest.Step{Fault: &modeltest.Fault{Status: 529, Header: map[string]string{"Retry-After-Ms": "1"}}})
	conf := config(server, executor.Limits{})
	conf.Provider.Retries = 2
	if _, failed := ask(t.Context(), conf, "q"); failed == nil || failed.Kind != task.EndModelUnavailable || len(server.Requests()) != 3 {
		t.Errorf("%+v after %d requests", failed, len(server.Requests()))
	}
}

func TestTheWayToTheModel(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		url     string
		secrets model.Secrets
		kind    task.EndKind
		text    string
	}{
		"plain http": {"http://models.example", secrets, task.EndModelUnavailable, "neither https nor on loopback"},
		"no URL":     {"models", secrets, task.EndModelUnavailable, "is no URL"},
		"no secrets": {"", nil, task.EndModelUnauthorized, "no secrets"},
		"no key": {"", func(context.Context, []string) (map[string]string, error) {
			return nil, errors.New("the secret p/ANTHROPIC_API_KEY does not exist")
		}, task.EndModelUnauthorized, "p/ANTHROPIC_API_KEY does not exist."},
		"an empty key": {"", func(context.Context, []string) (map[string]string, error) { return nil, nil }, task.EndModelUnauthorized, "is empty"},
	} {
		provider := &messages.Provider{BaseURL: c.url}
		_, failed := provider.Open(t.Context(), model.Config{Secrets: c.secrets, Meter: model.NewMeter(executor.Limits{})})
		if failed == nil || failed.Kind != c.kind || !strings.Contains(failed.Text, c.text) {
			t.Errorf("%s: %+v", name, failed)
		}
	}
}
