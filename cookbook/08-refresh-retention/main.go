// Command 08-refresh-retention shows how a Company tidies up: a Routine archives what was finished long ago and proposes
// which Projects could be done; a policy lets the next tick complete them; and what is old, events and artifacts of
// finished runs and the automation's own history, goes after its days, never anything of work that is going on.
//
//	go run ./cookbook/08-refresh-retention
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"companyos/cookbook/desk"
	"companyos/cookbook/example"
	"companyos/shared/task"
	"companyos/shared/wire"
)

func main() { example.Main("refresh-retention", desk.Tell(run)) }

func run(ctx context.Context, d *desk.Desk) error {
	if err := work(ctx, d); err != nil {
		return err
	}
	policy := desk.Rule(1)
	policy.CompleteProjects = true
	r, err := d.Routine(ctx, "refresh", "refresh", "keeper", policy)
	if err != nil {
		return err
	}
	ran, err := d.Ran(ctx, r.ID)
	if err != nil {
		return err
	}
	fmt.Printf("run: %s, %s\n", ran.Status, ran.Output["content"])
	if err := d.Tick(ctx); err != nil {
		return err
	}
	project, err := d.Project(ctx, d.ProjectID)
	if err != nil {
		return err
	}
	last := project.Transitions[len(project.Transitions)-1]
	fmt.Printf("Project: %s, %s\n", project.Status, last.Reason)
	if err := clean(ctx, d, "today"); err != nil {
		return err
	}
	// A month and a day later.
	d.Company.App.Clock = func() time.Time { return time.Now().Add(31 * 24 * time.Hour) }
	if err := clean(ctx, d, "in a month"); err != nil {
		return err
	}
	ran, err = d.Ran(ctx, r.ID)
	if err != nil {
		return err
	}
	left, err := d.Tasks(ctx, wire.List{ProductID: d.ProductID})
	fmt.Printf("run: %s; %d Tasks are left, the Project with its Tasks is archived\n", ran.Status, left.Meta.TotalCount)
	return err
}

// work is one Task that is done and one that is cancelled.
func work(ctx context.Context, d *desk.Desk) error {
	t, err := d.Accepted(ctx, "Repair it")
	if err != nil {
		return err
	}
	if err := d.Tick(ctx); err != nil {
		return err
	}
	if _, err := d.Settled(ctx, t.ID); err != nil {
		return err
	}
	if _, err := d.MoveTask(ctx, t.ID, wire.TaskTransition{Target: task.StatusDone, Reason: "looks right"}); err != nil {
		return err
	}
	other, err := d.CreateTask(ctx, wire.TaskCreate{ProductID: d.ProductID, ProjectID: d.ProjectID, Title: "Or do not"})
	if err != nil {
		return err
	}
	_, err = d.MoveTask(ctx, other.ID, wire.TaskTransition{Target: task.StatusCancelled, Reason: "no need"})
	return err
}

// clean prints what would go, and lets it go.
func clean(ctx context.Context, d *desk.Desk, when string) error {
	fmt.Println("clean up", when+":")
	for _, dry := range []bool{true, false} {
		cleaned, err := d.Company.App.CleanUp(ctx, dry)
		if err != nil {
			return err
		}
		cleaned.Print(os.Stdout)
	}
	return nil
}
