package api

import (
	"context"
	"net/http"

	"companyos/shared/app"
	"companyos/shared/wire"
)

func (s *server) listExecutors(ctx context.Context, _ http.ResponseWriter, r *request) (any, error) {
	list, err := s.Company.ListExecutors(ctx, text(r.query.ProductID))
	return executorsRecord(list), err
}

func executorsRecord(list app.ExecutorList) wire.Executors {
	out := wire.Executors{Data: make([]wire.Executor, len(list.Executors)), Revision: list.Revision, Stale: list.Stale}
	for i, e := range list.Executors {
		out.Data[i] = executorRecord(e)
	}
	return out
}

func executorRecord(e app.ExecutorState) wire.Executor {
	out := wire.Executor{
		Type: e.Kind, ID: e.ID, Name: e.Name, Harness: string(e.Harness), Sandboxed: e.Sandboxed(), Members: []string{},
		Steps: append([]string{}, e.Steps...), Usable: e.Problem == nil,
	}
	if e.Model != "" {
		out.Model = &e.Model
	}
	if e.Repository != nil {
		out.Repository = &wire.ExecutorRepository{URL: e.Repository.URL, Branch: e.Repository.Branch}
	}
	if e.Leader != "" {
		out.Members = append(append(out.Members, e.Leader), e.Members...)
	}
	if e.Problem != nil {
		out.Reason, out.Code, out.Remedy = &e.Problem.Detail, &e.Problem.Code, &e.Problem.Remedy
	}
	return out
}
