// Command 02-session-ownership shows whom a Task's session belongs to: Alice starts a workflow Task, Bob asks for the
// revision, and both attempts run in Alice's session.
//
//	go run ./cookbook/02-session-ownership
package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"companyos/cookbook/example"
	"companyos/cookbook/story"
	"companyos/functions/execute/steps"
	"companyos/shared/task"
	"companyos/shared/wire"
)

const executors = "workflows:\n  - {id: release-notes, steps: [collect, write]}\n"

func main() { example.Main("session-ownership", run) }

func run(ctx context.Context, log io.Writer) (err error) {
	place, err := story.Settle(ctx, func(string) string { return executors }, steps.Registered(), log)
	if err != nil {
		return err
	}
	defer func() {
		if closed := place.Close(ctx); err == nil {
			err = closed
		}
	}()
	alice, err := place.Client("alice")
	if err != nil {
		return err
	}
	bob, err := place.Client("bob")
	if err != nil {
		return err
	}
	t, err := alicesTask(ctx, alice)
	if err != nil {
		return err
	}
	if _, err := alice.StartRun(ctx, t.ID, wire.TaskRunCreate{Attempt: 1}); err != nil {
		return err
	}
	first, err := story.Settled(ctx, alice, t.ID, time.Minute)
	if err != nil {
		return err
	}
	words := "Add the date."
	if _, err := bob.StartRun(ctx, t.ID, wire.TaskRunCreate{Attempt: 2, Reason: &words}); err != nil {
		return err
	}
	fmt.Println("Bob requests attempt 2: 202")
	second, err := story.Settled(ctx, bob, t.ID, time.Minute)
	if err != nil {
		return err
	}
	return show(ctx, bob, first, second)
}

// alicesTask is a Task of Alice's, accepted for the workflow.
func alicesTask(ctx context.Context, alice *wire.Client) (wire.Task, error) {
	product, err := alice.CreateProduct(ctx, wire.ProductCreate{Name: "Handbook"})
	if err != nil {
		return wire.Task{}, err
	}
	project, err := alice.CreateProject(ctx, wire.ProjectCreate{ProductID: product.ID, Name: "Release"})
	if err != nil {
		return wire.Task{}, err
	}
	t, err := alice.CreateTask(ctx, wire.TaskCreate{ProductID: product.ID, ProjectID: project.ID, Title: "Release notes"})
	if err != nil {
		return t, err
	}
	kind, id := task.ExecutorWorkflow, "release-notes"
	return alice.MoveTask(ctx, t.ID, wire.TaskTransition{Target: task.StatusReady, Reason: "go", ExecutorType: &kind, ExecutorID: &id})
}

func show(ctx context.Context, c *wire.Client, first, second wire.Task) error {
	runs, err := c.Runs(ctx, second.ID, wire.List{})
	if err != nil {
		return err
	}
	var starters, owners []string
	for _, e := range second.Transitions {
		if e.Attempt > 0 {
			starters = append(starters, "'"+e.StartedBy.V+"'")
		}
	}
	for _, r := range runs.Data {
		owners = append(owners, "'"+*r.UserID+"'")
	}
	same := "False"
	if first.SessionID == second.SessionID && runs.Data[0].SessionID == runs.Data[1].SessionID {
		same = "True"
	}
	fmt.Printf("same session: %s | task.user_id: %s\n", same, *second.UserID)
	fmt.Printf("started_by: [%s]\n", strings.Join(starters, ", "))
	fmt.Printf("run owners: [%s]\n", strings.Join(owners, ", "))
	return nil
}
