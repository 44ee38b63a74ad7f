package api

import (
	"context"
	"slices"

	"companyos/shared/app"
	"companyos/shared/company"
	"companyos/shared/task"
	"companyos/shared/wire"
)

// setup makes the first Product. What it adds beside the Product needs the rights that adding it alone needs.
func (s *server) setup(ctx context.Context, r *request, in wire.Setup) (app.SetUp, error) {
	if err := s.checkSetup(in); err != nil {
		return app.SetUp{}, err
	}
	if err := requireForSetup(r.caller, in); err != nil {
		return app.SetUp{}, err
	}
	out := app.SetupInput{Name: in.Name, Purpose: in.Purpose, Metadata: in.Metadata}
	for _, source := range in.Sources {
		out.Sources = append(out.Sources, app.DeclaredSource{ID: text(source.ID), NewSource: newSource(app.SetupProductID, source)})
	}
	declared := make([]app.RoutineInput, len(in.Routines))
	for i, routine := range in.Routines {
		declared[i] = routineInput(routine)
		declared[i].ProductID = app.SetupProductID
	}
	if err := s.Company.CheckRoutines(r.caller, declared); err != nil {
		return app.SetUp{}, err
	}
	out.AddRoutines = func(ctx context.Context, productID string) error {
		return s.Company.DeclareRoutines(ctx, r.caller, productID, declared)
	}
	return s.Company.Setup(ctx, r.caller, out)
}

func newSource(productID string, in wire.Source) company.NewSource {
	return company.NewSource{ProductID: productID, Type: in.Type, Reference: in.Reference, CredentialRef: in.CredentialRef, Config: in.Config}
}

// checkSetup holds the rules of what is declared.
func (s *server) checkSetup(in wire.Setup) error {
	for i, source := range in.Sources {
		if broken := newSource(app.SetupProductID, source).Broken(s.Company.GitHosts); broken != "" {
			return &invalid{fields: []wire.FieldError{wire.BodyErrorAt(broken, "sources", i)}}
		}
	}
	if slices.ContainsFunc(in.Routines, func(r wire.Routine) bool { return r.AutoAccept.V != nil }) {
		return task.Invalidf("auto_accept_in_setup", "Set the Routine up without auto_accept and authorize it with PATCH /company/routines/{id}.",
			"Authorize automatic acceptance through the Routine API")
	}
	return nil
}

// requireForSetup is the contract's 403 for what a setup adds beside the Product.
func requireForSetup(by task.Caller, in wire.Setup) error {
	if len(in.Sources) > 0 {
		if err := requireScopes(by, []string{"sources:write"}); err != nil {
			return err
		}
	}
	if len(in.Routines) == 0 {
		return nil
	}
	if err := requireScopes(by, []string{"schedules:write", "routines:write"}); err != nil {
		return err
	}
	for _, r := range in.Routines {
		if err := by.RequireRun(r.ExecutorType, r.ExecutorID); err != nil {
			return err
		}
	}
	return nil
}
