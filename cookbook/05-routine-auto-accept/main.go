// Command 05-routine-auto-accept shows a Routine that proposes work from a Source, and a policy by which Alice lets the
// Company accept and start some of it without her: for one executor, at most so many, only while the evidence stands.
//
//	go run ./cookbook/05-routine-auto-accept
package main

import (
	"context"
	"fmt"

	"companyos/cookbook/desk"
	"companyos/cookbook/example"
	"companyos/shared/task"
	"companyos/shared/wire"
)

func main() { example.Main("routine-auto-accept", desk.Tell(run)) }

func run(ctx context.Context, d *desk.Desk) error {
	policy := desk.Rule(1, "executor_registered", "has_source_evidence")
	r, err := d.Routine(ctx, "intake", "intake", "scanner", policy)
	if err != nil {
		return err
	}
	ran, err := d.Ran(ctx, r.ID)
	if err != nil {
		return err
	}
	proposals, err := d.Tasks(ctx, wire.List{ProductID: d.ProductID, Status: string(task.StatusBacklog)})
	if err != nil {
		return err
	}
	fmt.Printf("run: %s, %d proposals in Backlog by origin %s\n", ran.Status, proposals.Meta.TotalCount, proposals.Data[0].Origin)
	// Its oldest proposal spends the budget of one.
	if err := d.Tick(ctx); err != nil {
		return err
	}
	if err := show(ctx, d); err != nil {
		return err
	}
	// Twice the budget is another policy; but the note has changed since the proposal was made.
	if err := d.Write("logout.md", "The logout works again.\n"); err != nil {
		return err
	}
	most := int64(2)
	policy.Limits.MaxAcceptances = &most
	if _, err := d.UpdateRoutine(ctx, r.ID, wire.RoutineUpdate{AutoAccept: wire.Some(wire.FalseOr[wire.AutoAcceptRule]{V: policy})}); err != nil {
		return err
	}
	if err := d.Tick(ctx); err != nil {
		return err
	}
	// And once the note is what it was, the policy allows it.
	if err := d.Write("logout.md", "So does the logout.\n"); err != nil {
		return err
	}
	if err := d.Tick(ctx); err != nil {
		return err
	}
	return show(ctx, d)
}

// show prints who accepted what was accepted, and how it went.
func show(ctx context.Context, d *desk.Desk) error {
	all, err := d.Tasks(ctx, wire.List{ProductID: d.ProductID, SortOrder: "asc"})
	if err != nil {
		return err
	}
	for _, t := range all.Data {
		if t.AcceptedBy == nil {
			continue
		}
		settled, err := d.Settled(ctx, t.ID)
		if err != nil {
			return err
		}
		e := settled.Transitions[0]
		fmt.Printf("%s: %s, accepted for %s: %s (at most %d)\n", settled.Title, settled.Status, *settled.AcceptedBy, e.Reason, e.AutoAccept.MaxAcceptances)
	}
	return nil
}
