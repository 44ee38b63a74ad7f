package story

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"companyos/shared/agent/modeltest"
	"companyos/shared/company"
	"companyos/shared/executor"
	"companyos/shared/task"
	"companyos/shared/wire"
)

// Agent is a coding agent and the model behind it.
type Agent struct {
	Harness string // claude, codex
	Model   string
	Key     string // the environment's name of the provider's key; without it a scripted model on loopback answers
	BaseURL string // the secret that names the provider's address
}

// The reviewer's words of this story, and the earlier turn's, by which the model's request is recognized.
const (
	brief        = "Say what README.md says, then add the line \"Read by an agent.\" to it."
	revision     = "Please add the date of the first line, too."
	firstAnswer  = "README says: "
	addedLine    = "Read by an agent."
	secondAnswer = "Now it says: "
)

// script is what the model does where there is no key.
func script() []modeltest.Step {
	return []modeltest.Step{
		{Run: "head -1 README.md"},
		{Run: "echo '" + addedLine + "' >> README.md && head -1 README.md"},
		{Say: firstAnswer + "{tool}"},
		{Run: "echo 'First line: day one.' >> README.md && tail -2 README.md | head -1"},
		{Say: secondAnswer + "{tool}"},
	}
}

const pricesOfTheStory = `models:
  %s: {input: 3, output: 15, cache_read: 0.3, cache_write: 3.75, date: 2026-01-31}
`

// RunAgent tells the story of a coding agent: a first attempt, and a revision in the same session in a fresh sandbox. The
// agent's program is found in PATH, else it is installed into this repository's .tools.
func RunAgent(ctx context.Context, a Agent, out io.Writer, log io.Writer) (err error) {
	if err := findAgents(ctx, a.Harness); err != nil {
		return err
	}
	model, secrets, err := a.provider()
	if err != nil {
		return err
	}
	if model != nil {
		defer model.Close()
		fmt.Fprintf(out, "%s is not set: a scripted model on loopback answers %s.\n", a.Key, a.Harness)
	}
	prices, err := executor.ParsePrices(fmt.Appendf(nil, pricesOfTheStory, a.Model), "prices.yaml")
	if err != nil {
		return err
	}
	place, err := settle(ctx, func(repository string) string { return a.executors(repository, secrets) }, prices, nil, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, place.Close(ctx)) }()
	alice, err := place.Client("alice")
	if err != nil {
		return err
	}
	s := &agentStory{teller: teller{Env: Env{Client: alice, Repository: place.Repository.URL, Out: out, Patience: 10 * time.Minute}}, model: model}
	for _, chapter := range []func(context.Context) error{s.begin, s.first, s.second} {
		if err := chapter(ctx); err != nil {
			return err
		}
	}
	return nil
}

// findAgents puts the agents' programs into PATH.
func findAgents(ctx context.Context, name string) error {
	if _, err := exec.LookPath(name); err == nil {
		return nil
	}
	root, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return err
	}
	script := strings.TrimSuffix(strings.TrimSpace(string(root)), "go.mod") + "shared/agent/ci/clis.sh"
	cmd := exec.CommandContext(ctx, script)
	cmd.Stderr = os.Stderr
	bin, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%s is not in PATH and could not be installed: %w", name, err)
	}
	return os.Setenv("PATH", string(bytes.TrimSpace(bin))+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// provider chooses the model: the real one with a key, else the scripted one. It returns the secrets' names, whose values
// go into the environment of this process, where a Company on one machine looks for them.
func (a Agent) provider() (*modeltest.Server, []string, error) {
	if key := os.Getenv(a.Key); key != "" {
		return nil, []string{a.Key}, os.Setenv("COMPANY_SECRET_"+a.Key, key)
	}
	model, err := modeltest.Start("127.0.0.1:0", script()...)
	if err != nil {
		return nil, nil, err
	}
	return model, []string{a.Key, a.BaseURL}, errors.Join(
		os.Setenv("COMPANY_SECRET_"+a.Key, "key-of-the-scripted-model"), os.Setenv("COMPANY_SECRET_"+a.BaseURL, model.URL))
}

func (a Agent) executors(repository string, secrets []string) string {
	return fmt.Sprintf(`agents:
  - id: engineer
    name: Engineer
    harness: %s
    model: %s
    instructions: Keep changes small.
    repository: {url: %q, branch: %s}
    sandbox: {cpu: 1024, memory: 2048, secrets: [%s], limits: {run: 10m, budget_usd: 2}}
`, a.Harness, a.Model, repository, Branch, strings.Join(secrets, ", "))
}

type agentStory struct {
	teller
	model *modeltest.Server
	asked int // requests of the first attempt
}

func (s *agentStory) begin(ctx context.Context) (err error) {
	if s.product, err = s.Client.CreateProduct(ctx, wire.ProductCreate{Name: "Hello"}); err != nil {
		return err
	}
	project, err := s.Client.CreateProject(ctx, wire.ProjectCreate{ProductID: s.product.ID, Name: "Read it"})
	if err != nil {
		return err
	}
	words := brief
	if s.task, err = s.Client.CreateTask(ctx, wire.TaskCreate{ProductID: s.product.ID, ProjectID: project.ID, Title: "Read the README", Brief: &words}); err != nil {
		return err
	}
	if _, err := s.Client.CreateSource(ctx, wire.SourceCreate{ProductID: s.product.ID, Source: wire.Source{Type: company.SourceGit, Reference: s.Repository}}); err != nil {
		return err
	}
	s.task, err = s.move(ctx, task.StatusReady, "engineer")
	return err
}

// attempt runs one and shows what the API tells of it.
func (s *agentStory) attempt(ctx context.Context, in wire.TaskRunCreate) error {
	if _, err := s.Client.StartRun(ctx, s.task.ID, in); err != nil {
		return err
	}
	if err := s.settled(ctx); err != nil {
		return err
	}
	run, err := s.Client.Run(ctx, *s.task.JobID)
	if err != nil {
		return err
	}
	s.say("attempt %d: %s | result: %s %s", in.Attempt, s.task.Status, s.task.Result.Status, s.task.Result.Content)
	if run.Ended == nil || run.Ended.Kind != task.EndCompleted {
		return fmt.Errorf("the attempt ended with %+v", run.Ended)
	}
	events, err := s.Client.RunEvents(ctx, run.RunID, 0, 0)
	if err != nil {
		return err
	}
	for _, e := range events.Data {
		switch e.Type {
		case wire.EventStarted:
			s.say("  started: %s (version %s; lock: %s)", e.Text, e.HarnessVersion, strings.Split(e.Lock, ",")[0])
		case wire.EventToolStarted:
			s.say("  ran: %s", e.Input)
		default:
		}
	}
	if run.Patch == nil || run.Usage == nil || run.Usage.CostUSD == nil {
		return fmt.Errorf("patch %+v, usage %+v", run.Patch, run.Usage)
	}
	patch, err := s.Client.RunPatch(ctx, run.RunID)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(patch)) {
		if strings.HasPrefix(line, "+") && !strings.HasPrefix(line, "+++") {
			s.say("  patch: %s", strings.TrimSpace(line))
		}
	}
	u := run.Usage
	s.say("  usage: %d in, %d out, %d from and %d to the cache, $%.4f", u.InputTokens, u.OutputTokens, u.CacheReadTokens, u.CacheWriteTokens, *u.CostUSD)
	return nil
}

func (s *agentStory) first(ctx context.Context) error {
	if err := s.attempt(ctx, wire.TaskRunCreate{Attempt: 1}); err != nil {
		return err
	}
	if s.model != nil {
		s.asked = len(s.model.Requests())
	}
	return nil
}

func (s *agentStory) second(ctx context.Context) error {
	words := revision
	if err := s.attempt(ctx, wire.TaskRunCreate{Attempt: 2, Reason: &words}); err != nil {
		return err
	}
	if s.model == nil {
		return nil
	}
	requests := s.model.Requests()
	request := requests[s.asked].Body
	if err := s.claim("same session of the agent, in a fresh sandbox", requests[0].Session != "" && requests[0].Session == requests[s.asked].Session); err != nil {
		return err
	}
	if err := s.claim("the model was told the reviewer's reason", strings.Contains(request, revision)); err != nil {
		return err
	}
	return s.claim("and goes on from the first attempt's answer", strings.Contains(request, firstAnswer) && strings.Contains(request, addedLine))
}
