// Command 07-failure-streak shows what becomes of a Task that the automation cannot start: twelve ticks fail on it, and
// that is one line with its count in what waits for a person, until the Task changes.
//
//	go run ./cookbook/07-failure-streak
package main

import (
	"context"
	"fmt"

	"companyos/cookbook/desk"
	"companyos/cookbook/example"
	"companyos/shared/task"
	"companyos/shared/wire"
)

func main() { example.Main("failure-streak", desk.Tell(run)) }

func run(ctx context.Context, d *desk.Desk) error {
	t, err := d.Accepted(ctx, "Repair it")
	if err != nil {
		return err
	}
	// The operator takes the executor out of executors.yaml.
	registry := d.Executors.Registry()
	d.Executors.Replace(registry.Without(task.ExecutorWorkflow, "fixer"))
	for range 12 {
		if _, err := d.Company.App.Tick(ctx); err != nil {
			return err
		}
	}
	if err := show(ctx, d, "after twelve ticks"); err != nil {
		return err
	}
	if _, err := d.MoveTask(ctx, t.ID, wire.TaskTransition{Target: task.StatusBacklog, Reason: "wait for the executor"}); err != nil {
		return err
	}
	if err := show(ctx, d, "after the Task changed"); err != nil {
		return err
	}
	d.Executors.Replace(registry)
	kind, id := task.ExecutorWorkflow, "fixer"
	if _, err := d.MoveTask(ctx, t.ID, wire.TaskTransition{Target: task.StatusReady, Reason: "it is back", ExecutorType: &kind, ExecutorID: &id}); err != nil {
		return err
	}
	if err := d.Tick(ctx); err != nil {
		return err
	}
	_, err = d.Settled(ctx, t.ID)
	if err != nil {
		return err
	}
	return show(ctx, d, "after the executor came back")
}

func show(ctx context.Context, d *desk.Desk, when string) error {
	a, err := d.Attention(ctx, d.ProductID)
	if err != nil {
		return err
	}
	fmt.Printf("%s: failed %d, proposals %d, in review %d\n", when, a.Failed, a.Proposals, a.InReview)
	for _, f := range a.AutomationFailures {
		fmt.Printf("  %d times: %s\n", f.Count, f.Reason)
	}
	for _, i := range a.Items {
		fmt.Printf("  waits for %s: %s\n  settle: %s %s %v\n", i.WaitsFor, i.Why, i.Settle.Method, i.Settle.Path, i.Settle.Body)
	}
	return nil
}
