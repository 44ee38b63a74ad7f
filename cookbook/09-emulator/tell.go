package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"companyos/cookbook/story"
	"companyos/shared/agent/gittest"
	"companyos/shared/company"
	"companyos/shared/task"
	"companyos/shared/wire"
)

// patience for one attempt: a container, a batch, and reminders.
const patience = 5 * time.Minute

// tell is the quickstart's story on the deployment, then a sandbox that is killed, then the hourly tick.
func (p *place) tell(ctx context.Context) error {
	if err := p.greet(ctx); err != nil {
		return err
	}
	alice, err := p.client("alice", adminGroup)
	if err != nil {
		return err
	}
	p.say("the story")
	if err := story.Tell(ctx, story.Env{
		Client: alice, Repository: p.repositoryURL(), Advance: p.advance, Forge: p.forger.Forge, Out: os.Stdout, Patience: patience,
	}); err != nil {
		return err
	}
	if err := p.killed(ctx, alice); err != nil {
		return err
	}
	p.say("the tick")
	if err := p.invoke(ctx, "sweep", `{"v":1,"at":"2026-12-01T00:00:00Z"}`); err != nil {
		return err
	}
	fmt.Println("the hourly tick: done")
	return nil
}

// greet is the first request, and one without a token.
func (p *place) greet(ctx context.Context) error {
	stranger, err := p.client("mallory")
	if err != nil {
		return err
	}
	if _, err := stranger.OpenAPI(ctx); err != nil {
		return err
	}
	_, err = stranger.Products(ctx, wire.List{})
	problem, ok := errors.AsType[*wire.Problem](err)
	if !ok || problem.Status != http.StatusForbidden {
		return fmt.Errorf("somebody without rights was not refused: %w", err)
	}
	fmt.Printf("somebody without rights: %d\n", problem.Status)
	return nil
}

func (p *place) advance() (string, error) {
	return p.repository.Commit(gittest.Commit{Branch: story.Branch, Message: "Tell the news", Files: map[string]gittest.File{"NEWS.md": {Content: "News!\n"}}})
}

// killed starts an attempt whose agent sleeps and kills its container. Nothing reports that: the emulator sends no event
// of a task's end. The run settles all the same, through its reminder.
func (p *place) killed(ctx context.Context, c *wire.Client) error {
	p.say("a sandbox is killed")
	t, err := p.acceptSleeper(ctx, c)
	if err != nil {
		return err
	}
	started, err := c.StartRun(ctx, t.ID, wire.TaskRunCreate{Attempt: 1})
	if err != nil {
		return err
	}
	container, err := p.container(ctx, c, started.RunID)
	if err != nil {
		return err
	}
	if _, err := p.emulator.command(ctx, "", "docker", "kill", container); err != nil {
		return err
	}
	t, err = story.Settled(ctx, c, t.ID, patience)
	if err != nil {
		return err
	}
	fmt.Printf("after its sandbox was killed: %s | result: %s %s\n", t.Status, t.Result.Status, t.Result.Content)
	return nil
}

func (p *place) acceptSleeper(ctx context.Context, c *wire.Client) (t wire.Task, err error) {
	product, err := c.CreateProduct(ctx, wire.ProductCreate{Name: "Sleep"})
	if err != nil {
		return t, err
	}
	project, err := c.CreateProject(ctx, wire.ProjectCreate{ProductID: product.ID, Name: "Sleep"})
	if err != nil {
		return t, err
	}
	if _, err := c.CreateSource(ctx, wire.SourceCreate{ProductID: product.ID, Source: wire.Source{Type: company.SourceGit, Reference: p.repositoryURL()}}); err != nil {
		return t, err
	}
	if t, err = c.CreateTask(ctx, wire.TaskCreate{ProductID: product.ID, ProjectID: project.ID, Title: "Sleep"}); err != nil {
		return t, err
	}
	kind, id := task.ExecutorAgent, "sleeper"
	return c.MoveTask(ctx, t.ID, wire.TaskTransition{Target: task.StatusReady, Reason: "try", ExecutorType: &kind, ExecutorID: &id})
}

// container waits until a run's agent works and returns its container.
func (p *place) container(ctx context.Context, c *wire.Client, run string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		r, err := c.Run(ctx, run)
		if err != nil {
			return "", err
		}
		if r.Checkout != nil && r.Checkout.Commit != nil {
			names, err := p.emulator.command(ctx, "", "docker", "ps", "--quiet", "--filter", "label=com.amazonaws.ecs.container-name=sandbox")
			if err != nil {
				return "", err
			}
			if name, _, _ := strings.Cut(names, "\n"); name != "" {
				return name, nil
			}
		}
		select {
		case <-ctx.Done():
			return "", fmt.Errorf("run %s has not started to work within %s", run, patience)
		case <-time.After(time.Second):
		}
	}
}
