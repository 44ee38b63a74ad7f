package api

import (
	"context"
	"net/http"

	"companyos/shared/app"
	"companyos/shared/company"
	"companyos/shared/store"
	"companyos/shared/task"
	"companyos/shared/wire"
)

func projectRecord(p store.CountedProject) wire.Project { return wire.NewProject(p.Project, p.Counts) }

func (s *server) listProjects(ctx context.Context, _ http.ResponseWriter, r *request) (any, error) {
	at, err := position(r.query)
	if err != nil {
		return nil, err
	}
	if selectsNothing(r.query.ProductID) {
		return wire.NewPage(nil, 0, r.query, projectRecord), nil
	}
	list, err := s.Company.Projects(ctx, at, store.ProjectFilter{
		ProductID: text(r.query.ProductID), Status: company.ProjectStatus(text(r.query.Status)),
	})
	return listPage(list, r.query, projectRecord), err
}

func (s *server) createProject(ctx context.Context, r *request, in wire.ProjectCreate) (store.CountedProject, error) {
	return s.Company.CreateProject(ctx, r.caller, app.ProjectInput{
		ProductID: in.ProductID, Name: in.Name, Outcome: in.Outcome, TargetDate: (*int64)(in.TargetDate),
	})
}

func (s *server) getProject(ctx context.Context, _ http.ResponseWriter, r *request) (any, error) {
	p, err := s.Company.Project(ctx, r.PathValue("project_id"), r.query.IncludeDeleted)
	return projectRecord(p), err
}

func (s *server) updateProject(ctx context.Context, r *request, in wire.ProjectUpdate) (any, error) {
	p, err := s.Company.EditProject(ctx, r.PathValue("project_id"), app.ProjectEdit{
		Name: edit(in.Name), Outcome: edit(in.Outcome),
		TargetDate: task.Opt[int64]{Set: in.TargetDate.Set, Value: (*int64)(in.TargetDate.Ptr())},
	})
	return projectRecord(p), err
}

func (s *server) deleteProject(ctx context.Context, _ http.ResponseWriter, r *request) (any, error) {
	return nil, s.Company.ArchiveProject(ctx, r.PathValue("project_id"))
}

func (s *server) restoreProject(ctx context.Context, _ http.ResponseWriter, r *request) (any, error) {
	p, err := s.Company.RestoreProject(ctx, r.PathValue("project_id"))
	return projectRecord(p), err
}

func (s *server) moveProject(ctx context.Context, r *request, in wire.ProjectTransition) (any, error) {
	p, err := s.Company.MoveProject(ctx, r.caller, r.PathValue("project_id"), in.Target, in.Reason)
	return projectRecord(p), err
}
