// Package story is what the examples tell: a Task for a sandboxed agent, its pin, a revision on the same commit, and a
// run that reports another one. It drives a Company through its HTTP API alone, so it runs against one on this machine and
// against a deployed one.
package story

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"companyos/shared/company"
	"companyos/shared/task"
	"companyos/shared/wire"
)

// Env is where the story happens.
type Env struct {
	Client     *wire.Client
	Repository string                 // what the executor "engineer" works on
	Advance    func() (string, error) // moves the repository's branch on, by a commit that adds NEWS.md
	Forge      func(commit string)    // from now on sandboxes report this commit, whatever they checked out; "" for the truth
	Out        io.Writer              // takes the story
	Patience   time.Duration          // for one attempt
}

// Executors are the executors of the story: a sandboxed one that plays a script, and a plain one.
func Executors(repository, branch string) string {
	return fmt.Sprintf(`agents:
  - id: engineer
    name: Engineer
    harness: fixture
    repository: {url: %q, branch: %q}
    sandbox: {cpu: 256, memory: 512}
    fixture:
      turns:
        - steps:
            - {answer_first_line: README.md, prefix: "README says: "}
        - steps:
            - {run: [ls]}
            - {answer_output: true, prefix: "Files: "}
            - {answer_prompt: true}
  - id: writer
    name: Writer
    harness: fixture
`, repository, branch)
}

// forged is a commit that no repository of the story has.
var forged = strings.Repeat("b", 40)

const reviewersWords = "Please list the files as well."

// Tell tells the story.
func Tell(ctx context.Context, e Env) error {
	s := &teller{Env: e}
	for _, chapter := range []func(context.Context) error{s.accept, s.firstAttempt, s.revise, s.refuse, s.reassign} {
		if err := chapter(ctx); err != nil {
			return err
		}
	}
	return nil
}

type teller struct {
	Env
	product wire.Product
	task    wire.Task
	session string
	pin     task.Checkout
}

func (s *teller) say(format string, a ...any) { fmt.Fprintf(s.Out, format+"\n", a...) }

// accept makes a Task and accepts it: without a git Source of the same repository that is refused.
func (s *teller) accept(ctx context.Context) (err error) {
	if s.product, err = s.Client.CreateProduct(ctx, wire.ProductCreate{Name: "Hello"}); err != nil {
		return err
	}
	project, err := s.Client.CreateProject(ctx, wire.ProjectCreate{ProductID: s.product.ID, Name: "Read it"})
	if err != nil {
		return err
	}
	brief := "Say what the README says."
	if s.task, err = s.Client.CreateTask(ctx, wire.TaskCreate{ProductID: s.product.ID, ProjectID: project.ID, Title: "Read the README", Brief: &brief}); err != nil {
		return err
	}
	_, err = s.move(ctx, task.StatusReady, "engineer")
	refused, err := expect(err, http.StatusConflict)
	if err != nil {
		return err
	}
	s.say("accept without git Source: %d %s", refused.Status, refused.Detail)
	if _, err := s.Client.CreateSource(ctx, wire.SourceCreate{ProductID: s.product.ID, Source: wire.Source{Type: company.SourceGit, Reference: s.Repository}}); err != nil {
		return err
	}
	if s.task, err = s.move(ctx, task.StatusReady, "engineer"); err != nil {
		return err
	}
	s.session = s.task.SessionID
	s.say("accept engineer: 200 sandboxed = %s status = %s", truth(s.task.Sandboxed), s.task.Status)
	return nil
}

// firstAttempt runs on the branch's present commit, which becomes the Task's pin.
func (s *teller) firstAttempt(ctx context.Context) error {
	started, err := s.Client.StartRun(ctx, s.task.ID, wire.TaskRunCreate{Attempt: 1})
	if err != nil {
		return err
	}
	s.say("POST runs attempt 1: 202 {'status': '%s'}", started.Status)
	if err := s.settled(ctx); err != nil {
		return err
	}
	s.say("after attempt 1: %s | result: %s %s", s.task.Status, s.task.Result.Status, s.task.Result.Content)
	if s.task.Metadata == nil {
		return errors.New("the Task has no checkout")
	}
	s.pin = s.task.Metadata.Checkout
	raw, err := json.Marshal(s.pin)
	if err != nil {
		return err
	}
	s.say("metadata.checkout: %s", raw)
	return nil
}

// revise asks for a revision after the branch has moved on: it runs on the pinned commit, in the same session, and is
// told the reviewer's words.
func (s *teller) revise(ctx context.Context) error {
	newer, err := s.Advance()
	if err != nil {
		return err
	}
	words := reviewersWords
	if _, err := s.Client.StartRun(ctx, s.task.ID, wire.TaskRunCreate{Attempt: 2, Reason: &words}); err != nil {
		return err
	}
	s.say("POST runs attempt 2 (revision): 202")
	if err := s.settled(ctx); err != nil {
		return err
	}
	files, prompt, _ := strings.Cut(s.task.Result.Content, "\n{")
	run, err := s.Client.Run(ctx, *s.task.JobID)
	if err != nil {
		return err
	}
	s.say("after attempt 2: %s | result: %s %s", s.task.Status, s.task.Result.Status, strings.ReplaceAll(files, "\n", " "))
	for _, claim := range []struct {
		text  string
		holds bool
	}{
		{"the branch moved on to " + newer, newer != s.pin.Commit},
		{"attempt 2 worked on the pinned commit", run.Checkout != nil && run.Checkout.Commit != nil && *run.Checkout.Commit == s.pin.Commit},
		{"NEWS.md of the newer commit is absent", !strings.Contains(files, "NEWS.md")},
		{"the prompt holds the reviewer's reason", strings.Contains(prompt, reviewersWords)},
		{"same session", s.task.SessionID == s.session},
	} {
		if err := s.claim(claim.text, claim.holds); err != nil {
			return err
		}
	}
	return nil
}

// refuse runs a third attempt whose sandbox reports another commit: it ends before the agent starts.
func (s *teller) refuse(ctx context.Context) error {
	s.Forge(forged)
	defer s.Forge("")
	if _, err := s.Client.StartRun(ctx, s.task.ID, wire.TaskRunCreate{Attempt: 3}); err != nil {
		return err
	}
	s.say("POST runs attempt 3 (revision): 202")
	if err := s.settled(ctx); err != nil {
		return err
	}
	s.say("after attempt 3 on another commit: %s | result: %s %s", s.task.Status, s.task.Result.Status, s.task.Result.Content)
	return s.claim("same session", s.task.SessionID == s.session)
}

// reassign tries to give the pinned Task to an agent without a sandbox.
func (s *teller) reassign(ctx context.Context) error {
	if _, err := s.move(ctx, task.StatusBacklog, ""); err != nil {
		return err
	}
	_, err := s.move(ctx, task.StatusReady, "writer")
	refused, err := expect(err, http.StatusConflict)
	if err != nil {
		return err
	}
	s.say("reassign pinned Task to plain agent: %d %s", refused.Status, refused.Detail)
	return nil
}

func (s *teller) claim(text string, holds bool) error {
	s.say("%s: %s", text, truth(holds))
	if !holds {
		return fmt.Errorf("this should hold: %s", text)
	}
	return nil
}

func (s *teller) move(ctx context.Context, target task.Status, executor string) (wire.Task, error) {
	in := wire.TaskTransition{Target: target, Reason: "to " + string(target)}
	if executor != "" {
		kind := task.ExecutorAgent
		in.ExecutorType, in.ExecutorID = &kind, &executor
	}
	return s.Client.MoveTask(ctx, s.task.ID, in)
}

// settled waits until the attempt has ended and reads the Task.
func (s *teller) settled(ctx context.Context) (err error) {
	s.task, err = Settled(ctx, s.Client, s.task.ID, s.Patience)
	return err
}

// Settled waits until a Task's latest attempt has ended.
func Settled(ctx context.Context, c *wire.Client, id string, patience time.Duration) (wire.Task, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		t, err := c.Task(ctx, id)
		if err != nil {
			return t, err
		}
		if t.Result != nil {
			return t, nil
		}
		select {
		case <-ctx.Done():
			return t, fmt.Errorf("the attempt did not end within %s", patience)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// expect takes the refusal that the story needs.
func expect(err error, status int) (*wire.Problem, error) {
	p, ok := errors.AsType[*wire.Problem](err)
	if !ok || p.Status != status {
		return nil, fmt.Errorf("a refusal with status %d was expected, got: %w", status, err)
	}
	return p, nil
}

// truth writes a claim as the release notes do.
func truth(b bool) string {
	if b {
		return "True"
	}
	return "False"
}
