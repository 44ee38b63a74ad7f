package app

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"companyos/shared/company"
	"companyos/shared/executor"
	"companyos/shared/routine"
	"companyos/shared/store"
	"companyos/shared/task"
)

// Routine returns a Routine. KindNotFound when there is none.
func (c *Company) Routine(ctx context.Context, id string) (routine.Routine, error) {
	if id == routine.AutomationID {
		return routine.Routine{}, task.NotFound("Routine")
	}
	return c.DB.Routine(ctx, id)
}

// Routines returns one page, newest first, and the number of all. An empty productID selects all Products.
func (c *Company) Routines(ctx context.Context, page store.Page, productID string) ([]routine.Routine, int64, error) {
	return c.DB.Routines(ctx, page, productID)
}

// RoutineRuns returns one page of a Routine's runs, newest first, and the number of all. KindNotFound for a missing
// Routine.
func (c *Company) RoutineRuns(ctx context.Context, id string, page store.Page) ([]routine.Run, int64, error) {
	if _, err := c.Routine(ctx, id); err != nil {
		return nil, 0, err
	}
	return c.DB.RoutineRuns(ctx, id, page)
}

// changeRoutine reads a Routine and its Product, lets change decide and writes the answer. An error of change is returned
// as it is, errUnchanged writes nothing.
func (c *Company) changeRoutine(ctx context.Context, id string, change func(context.Context, *store.Tx, routine.Routine, company.Product) (routine.Routine, error)) (routine.Routine, error) {
	if id == routine.AutomationID {
		return routine.Routine{}, task.NotFound("Routine")
	}
	var before, after routine.Routine
	err := c.DB.Transact(ctx, func(ctx context.Context, tx *store.Tx) error {
		var product company.Product
		var err error
		if before, product, err = tx.Routine(ctx, id); err != nil {
			return err
		}
		if after, err = change(ctx, tx, before, product); err != nil {
			return err
		}
		if err := tx.SaveRoutine(ctx, &before, &after); err != nil {
			return err
		}
		after.Revision = before.Revision + 1
		return nil
	})
	switch {
	case errors.Is(err, errUnchanged):
		return c.DB.Routine(ctx, id)
	case errors.Is(err, store.ErrNameTaken):
		err = errNameTaken(after.Name)
	}
	if err == nil && (!before.Enabled || !sameMoment(before.NextRunAt, after.NextRunAt)) {
		c.wakeRoutine(ctx, &after)
	}
	return after, err
}

func sameMoment(a, b *time.Time) bool { return a == b || (a != nil && b != nil && a.Equal(*b)) }

func errNameTaken(name string) error {
	return task.Conflictf("routine_name_taken", "Choose another name.", "Schedule with name '%s' already exists", name)
}

// routineExecutor holds the rules of a Routine's executor. KindInvalid otherwise.
func (c *Company) routineExecutor(kind task.ExecutorKind, id string) error {
	switch {
	case id == executor.ManagerCompany && kind == task.ExecutorAgent:
		return nil // known to the contract; a run of it says whether this deployment has one
	case id == executor.ManagerCompany:
		return task.Invalidf("routine_executor", "Send executor_type agent.", "Company Manager Routine executor_type must be 'agent'")
	case executor.Reserved(id):
		return task.Invalidf("routine_executor", "Choose an executor of the registry.", "Only the Company Manager can execute Routines among framework managers")
	case !plainID(id):
		return task.Invalidf("routine_executor", "Choose an executor of the registry.", "Invalid Routine executor id")
	}
	_, err := c.Executors.Registry().Select(kind, id)
	rule, broken := errors.AsType[*executor.RuleError](err)
	switch {
	case !broken:
		return err
	case rule.Code == "executor_unknown":
		return task.Invalidf(rule.Code, rule.Remedy, "Routine executor is missing from the registry")
	}
	return task.Invalidf(rule.Code, rule.Remedy, "%s", rule.Detail)
}

// plainID takes what can stand in the path of a Routine's endpoint.
func plainID(id string) bool {
	return id != "" && !slices.ContainsFunc([]rune(id), func(r rune) bool { return r <= ' ' || r == '/' || r == '?' || r == '#' || r == '%' })
}

// linkRoutine puts a Routine into its Product's metadata; linked is false where it is there already.
func linkRoutine(p company.Product, id string) (_ company.Product, linked bool) {
	var ids []string
	if raw, ok := p.Metadata[company.MetadataRoutineIDs]; ok && json.Unmarshal(raw, &ids) != nil {
		ids = nil
	}
	if slices.Contains(ids, id) {
		return p, false
	}
	raw, err := json.Marshal(append(ids, id))
	if err != nil {
		panic(err) // a list of texts
	}
	metadata := make(map[string]json.RawMessage, len(p.Metadata)+1)
	for k, v := range p.Metadata {
		metadata[k] = v
	}
	metadata[company.MetadataRoutineIDs] = raw
	p.Metadata = metadata
	return p, true
}
