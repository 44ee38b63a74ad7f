package api

import (
	"context"
	"errors"
	"net/http"

	"companyos/shared/company"
	"companyos/shared/task"
	"companyos/shared/wire"
)

func (s *server) listSources(ctx context.Context, _ http.ResponseWriter, r *request) (any, error) {
	if selectsNothing(r.query.ProductID) {
		return wire.NewPage(nil, 0, r.query, wire.NewSource), nil
	}
	rows, total, err := s.Company.Sources(ctx, page(r.query), text(r.query.ProductID))
	if err != nil {
		return nil, err
	}
	return wire.NewPage(rows, total, r.query, wire.NewSource), nil
}

func (s *server) createSource(ctx context.Context, r *request, in wire.SourceCreate) (company.Source, error) {
	source, err := s.Company.CreateSource(ctx, r.caller, company.NewSource{
		ProductID: in.ProductID, Type: in.Type, Reference: in.Reference, CredentialRef: in.CredentialRef, Config: in.Config,
	})
	if e, ok := errors.AsType[*task.Error](err); ok && e.Code == codeSourceRule {
		// The contract tells a Source's own rules as a fault of the body.
		err = &invalid{[]wire.FieldError{wire.BodyError(e.Detail)}, e.Remedy}
	}
	return source, err
}

func (s *server) deleteSource(ctx context.Context, _ http.ResponseWriter, r *request) (any, error) {
	return nil, s.Company.ArchiveSource(ctx, r.PathValue("source_id"))
}

func (s *server) restoreSource(ctx context.Context, _ http.ResponseWriter, r *request) (any, error) {
	source, err := s.Company.RestoreSource(ctx, r.PathValue("source_id"))
	return wire.NewSource(source), err
}
