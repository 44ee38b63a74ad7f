package app

import (
	"context"
	"errors"
	"strings"

	"github.com/google/uuid"

	"companyos/shared/company"
	"companyos/shared/routine"
	"companyos/shared/store"
	"companyos/shared/task"
)

// RoutineInput is a new Routine.
type RoutineInput struct {
	ProductID    string
	Name         string // without the Product's id
	Template     *routine.Template
	ExecutorType task.ExecutorKind
	ExecutorID   string
	CronExpr     *string // nil or empty: on demand
	Timezone     string  // empty: UTC
	Instructions *string // nil: the template's
	Policy       *routine.Policy
}

// CreateRoutine adds a Routine to a Product. KindNotFound for a Product that is missing or archived, KindInvalid for an
// executor, a policy, a name or a time that breaks a rule, KindForbidden without the permission to run its executor or to
// grant its policy, KindConflict where the caller has a Routine of that name.
func (c *Company) CreateRoutine(ctx context.Context, by task.Caller, in RoutineInput) (routine.Routine, error) {
	if _, err := c.Product(ctx, in.ProductID, false); err != nil {
		return routine.Routine{}, err
	}
	r, err := c.newRoutine(by, in)
	if err != nil {
		return r, err
	}
	record := func() any { return r }
	err = c.create(ctx, by, record, func(ctx context.Context, tx *store.Tx) error {
		product, err := openProduct(ctx, tx, in.ProductID)
		if err != nil {
			return err
		}
		return addRoutine(ctx, tx, product, &r)
	})
	if err == nil {
		c.wakeRoutine(ctx, &r)
	}
	return r, err
}

// CheckRoutines holds the rules of Routines that are to be declared, but those of their Product.
func (c *Company) CheckRoutines(by task.Caller, declared []RoutineInput) error {
	for _, in := range declared {
		if _, err := c.newRoutine(by, in); err != nil {
			return err
		}
	}
	return nil
}

// DeclareRoutines adds those of the declared Routines that a Product lacks, by name, whoever made or changed the others
// since. It returns the errors of CreateRoutine.
func (c *Company) DeclareRoutines(ctx context.Context, by task.Caller, productID string, declared []RoutineInput) error {
	for _, in := range declared {
		in.ProductID = productID
		r, err := c.newRoutine(by, in)
		if err != nil {
			return err
		}
		there := false
		err = c.DB.Transact(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
			if there, err = tx.HasRoutine(ctx, productID, r.Name); err != nil || there {
				return err
			}
			product, err := tx.Product(ctx, productID)
			if err != nil {
				return err
			}
			return addRoutine(ctx, tx, product, &r)
		})
		if err != nil {
			return err
		}
		if !there {
			c.wakeRoutine(ctx, &r)
		}
	}
	return nil
}

// newRoutine makes a Routine of what somebody asks for, with all rules but those of its Product.
func (c *Company) newRoutine(by task.Caller, in RoutineInput) (routine.Routine, error) {
	now := c.now()
	r := routine.Routine{
		ID: uuid.NewString(), ProductID: in.ProductID, UserID: by.ID, Name: in.ProductID + "." + in.Name, Template: in.Template,
		ExecutorType: in.ExecutorType, ExecutorID: in.ExecutorID, CronExpr: in.CronExpr, Timezone: in.Timezone, Enabled: true,
		Policy: in.Policy, Authority: *by.Snapshot(), CreatedAt: now, UpdatedAt: now,
	}
	if r.CronExpr != nil && *r.CronExpr == "" {
		r.CronExpr = nil
	}
	if r.Timezone == "" {
		r.Timezone = "UTC"
	}
	switch {
	case in.Instructions != nil:
		r.Instructions = *in.Instructions
	case in.Template != nil:
		r.Instructions = in.Template.Instructions()
	}
	if err := c.checkRoutine(&r, by); err != nil {
		return r, err
	}
	if err := routine.CheckName("ScheduleCreate", r.Name); err != nil {
		return r, err
	}
	return r.Scheduled(now)
}

// checkRoutine holds the rules of what a Routine runs, in the contract's order, and records who granted its policy.
func (c *Company) checkRoutine(r *routine.Routine, by task.Caller) error {
	if strings.TrimSpace(r.Instructions) == "" {
		return task.Invalidf("instructions_blank", "Say what is to be done.", "Routine instructions must be nonempty")
	}
	if err := c.routineExecutor(r.ExecutorType, r.ExecutorID); err != nil {
		return err
	}
	r.Grant = nil
	if r.Policy != nil {
		if err := c.checkPolicy(r.Policy, by); err != nil {
			return err
		}
		r.Grant = by.Snapshot()
	}
	return by.RequireRun(r.ExecutorType, r.ExecutorID)
}

// addRoutine stores a Routine and links its Product to it.
func addRoutine(ctx context.Context, tx *store.Tx, product company.Product, r *routine.Routine) error {
	err := tx.InsertRoutine(ctx, r)
	if errors.Is(err, store.ErrNameTaken) {
		return errNameTaken(r.Name)
	}
	if err != nil {
		return err
	}
	linked, _ := linkRoutine(product, r.ID)
	linked.UpdatedAt = &r.CreatedAt
	return tx.SaveProduct(ctx, &product, &linked)
}

// checkPolicy says whether somebody may have a Routine's proposals accepted by a policy.
func (c *Company) checkPolicy(p *routine.Policy, by task.Caller) error {
	if !routine.Human(by.ID) {
		return &task.Error{
			Kind: task.KindForbidden, Code: "not_human", Detail: "Only a human may authorize automatic acceptance",
			Remedy: "Let a person grant it.",
		}
	}
	if err := by.Require(p.GrantScopes()...); err != nil {
		return err
	}
	if p.Expired(c.now()) {
		return task.Invalidf("policy_expired", "Send an expires_at that lies ahead.", "Automatic acceptance expiry must be in the future")
	}
	ex, err := c.Executors.Registry().Select(p.ExecutorType, p.ExecutorID)
	if err != nil {
		return invalidRule(err)
	}
	if ex.NoDatabase {
		return task.Invalidf("executor_without_database", "Choose another executor.", "Automatic Task executor requires a database for durable runs")
	}
	for _, name := range p.RequiredChecks {
		if !routine.BuiltIn(name) && c.Checks[name] == nil {
			return task.Invalidf("unknown_check", "Use executor_registered, project_active, has_source_evidence or a check of this deployment.",
				"%s", routine.ReasonUnknownCheck)
		}
	}
	return by.RequireRun(p.ExecutorType, p.ExecutorID)
}
