package api

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"companyos/shared/app"
	"companyos/shared/store"
	"companyos/shared/task"
	"companyos/shared/wire"
)

// taskRecord shows a Task; whether it is sandboxed is what the registry says now of the executor that it names.
func (s *server) taskRecord(t store.TaskInPlace) wire.Task {
	return wire.NewTask(t.Task, s.Company.Sandboxed(&t.Task))
}

func (s *server) listTasks(ctx context.Context, _ http.ResponseWriter, r *request) (any, error) {
	at, err := position(r.query)
	if err != nil {
		return nil, err
	}
	if selectsNothing(r.query.ProductID, r.query.ProjectID) {
		return wire.NewPage(nil, 0, r.query, s.taskRecord), nil
	}
	list, err := s.Company.Tasks(ctx, at, store.TaskFilter{
		ProductID: text(r.query.ProductID), ProjectID: text(r.query.ProjectID), Status: task.Status(text(r.query.Status)), Failed: r.query.Failed,
	})
	return listPage(list, r.query, s.taskRecord), err
}

func (s *server) createTask(ctx context.Context, r *request, in wire.TaskCreate) (store.TaskInPlace, error) {
	if err := checkTaskIDs(&in.ProjectID, in.ExecutorID); err != nil {
		return store.TaskInPlace{}, err
	}
	return s.Company.CreateTask(ctx, r.caller, app.TaskInput{
		ProductID: in.ProductID, ProjectID: in.ProjectID, Title: in.Title, Brief: in.Brief, Evidence: in.Evidence,
		ExecutorType: in.ExecutorType, ExecutorID: in.ExecutorID,
	})
}

func (s *server) getTask(ctx context.Context, _ http.ResponseWriter, r *request) (any, error) {
	t, err := s.Company.Task(ctx, r.PathValue("task_id"), r.query.IncludeDeleted)
	return s.taskRecord(t), err
}

func (s *server) updateTask(ctx context.Context, r *request, in wire.TaskUpdate) (any, error) {
	if err := checkTaskIDs(in.ProjectID.Ptr(), in.ExecutorID.Ptr()); err != nil {
		return nil, err
	}
	t, err := s.Company.EditTask(ctx, r.PathValue("task_id"), app.TaskEdit{
		Title: edit(in.Title), Brief: edit(in.Brief), ProjectID: edit(in.ProjectID), Evidence: edit[[]json.RawMessage](in.Evidence),
		ExecutorType: edit(in.ExecutorType), ExecutorID: edit(in.ExecutorID),
	})
	return s.taskRecord(t), err
}

// checkTaskIDs refuses ids that are there and blank; the contract tells this as a text.
func checkTaskIDs(projectID, executorID *string) error {
	switch {
	case projectID != nil && strings.TrimSpace(*projectID) == "":
		return task.Invalidf("project_blank", "Send the id of a Project.", "project_id must be a non-empty string or None")
	case executorID != nil && strings.TrimSpace(*executorID) == "":
		return task.Invalidf("executor_blank", "Send the id of an executor, or leave it out.", "Invalid proposed executor id")
	}
	return nil
}

func (s *server) deleteTask(ctx context.Context, _ http.ResponseWriter, r *request) (any, error) {
	return nil, s.Company.ArchiveTask(ctx, r.PathValue("task_id"))
}

func (s *server) restoreTask(ctx context.Context, _ http.ResponseWriter, r *request) (any, error) {
	t, err := s.Company.RestoreTask(ctx, r.PathValue("task_id"))
	return s.taskRecord(t), err
}

func (s *server) moveTask(ctx context.Context, r *request, in wire.TaskTransition) (any, error) {
	move := task.Move{Target: in.Target, Reason: in.Reason, By: r.caller, Attempt: in.Attempt, ResultSHA256: in.ResultSHA256}
	if in.ExecutorType != nil && in.ExecutorID != nil {
		move.Executor = &task.ExecutorRef{Kind: *in.ExecutorType, ID: *in.ExecutorID}
	}
	moved, err := s.Company.MoveTask(ctx, r.PathValue("task_id"), move)
	record := s.taskRecord(moved.TaskInPlace)
	record.CancelledRunID = moved.CancelledRunID
	return record, err
}
