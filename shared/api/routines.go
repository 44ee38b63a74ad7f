package api

import (
	"context"
	"net/http"

	"companyos/shared/app"
	"companyos/shared/routine"
	"companyos/shared/task"
	"companyos/shared/wire"
)

func (s *server) listRoutines(ctx context.Context, _ http.ResponseWriter, r *request) (any, error) {
	if selectsNothing(r.query.ProductID) {
		return wire.NewPage(nil, 0, r.query, wire.NewRoutine), nil
	}
	rows, total, err := s.Company.Routines(ctx, page(r.query), text(r.query.ProductID))
	if err != nil {
		return nil, err
	}
	return wire.NewPage(rows, total, r.query, wire.NewRoutine), nil
}

func (s *server) createRoutine(ctx context.Context, r *request, in wire.RoutineCreate) (routine.Routine, error) {
	input := routineInput(in.Routine)
	input.ProductID = in.ProductID
	return s.Company.CreateRoutine(ctx, r.caller, input)
}

// routineInput is a Routine's body as the use cases have it.
func routineInput(in wire.Routine) app.RoutineInput {
	return app.RoutineInput{
		Name: in.Name, Template: (*routine.Template)(in.Template), ExecutorType: in.ExecutorType, ExecutorID: in.ExecutorID, CronExpr: in.CronExpr,
		Timezone: in.Timezone, Instructions: in.Instructions, Policy: in.AutoAccept.V.Policy(),
	}
}

func (s *server) getRoutine(ctx context.Context, _ http.ResponseWriter, r *request) (any, error) {
	found, err := s.Company.Routine(ctx, r.PathValue("routine_id"))
	return wire.NewRoutine(found), err
}

func (s *server) updateRoutine(ctx context.Context, r *request, in wire.RoutineUpdate) (any, error) {
	change := app.RoutineEdit{
		Name: edit(in.Name), ExecutorType: edit(in.ExecutorType), ExecutorID: edit(in.ExecutorID), Instructions: edit(in.Instructions),
		CronExpr: edit(in.CronExpr), Timezone: edit(in.Timezone),
	}
	if policy := edit(in.AutoAccept); policy.Set {
		change.Policy = task.Opt[app.PolicyEdit]{Set: true}
		if policy.Value != nil {
			change.Policy.Value = &app.PolicyEdit{Policy: policy.Value.V.Policy()}
		}
	}
	changed, err := s.Company.EditRoutine(ctx, r.caller, r.PathValue("routine_id"), change)
	return wire.NewRoutine(changed), err
}

func (s *server) triggerRoutine(ctx context.Context, _ http.ResponseWriter, r *request) (any, error) {
	run, err := s.Company.TriggerRoutine(ctx, r.caller, r.PathValue("routine_id"))
	return wire.NewScheduleRun(run), err
}

func (s *server) pauseRoutine(ctx context.Context, _ http.ResponseWriter, r *request) (any, error) {
	paused, err := s.Company.PauseRoutine(ctx, r.PathValue("routine_id"))
	return wire.NewRoutine(paused), err
}

func (s *server) resumeRoutine(ctx context.Context, _ http.ResponseWriter, r *request) (any, error) {
	resumed, err := s.Company.ResumeRoutine(ctx, r.caller, r.PathValue("routine_id"))
	return wire.NewRoutine(resumed), err
}

func (s *server) routineRuns(ctx context.Context, _ http.ResponseWriter, r *request) (any, error) {
	rows, total, err := s.Company.RoutineRuns(ctx, r.PathValue("routine_id"), page(r.query))
	if err != nil {
		return nil, err
	}
	return wire.NewPage(rows, total, r.query, wire.NewScheduleRun), nil
}

func (s *server) attention(ctx context.Context, _ http.ResponseWriter, r *request) (any, error) {
	if selectsNothing(r.query.ProductID) {
		return wire.Attention{Items: []wire.AttentionItem{}}, nil
	}
	at, err := position(r.query)
	if err != nil {
		return nil, err
	}
	waiting, err := s.Company.Attention(ctx, text(r.query.ProductID), at)
	record := wire.NewAttention(waiting.Attention, waiting.Items)
	if waiting.Next != nil {
		next := wire.Cursor{At: waiting.Next.At, ID: waiting.Next.ID}.String()
		record.NextCursor = &next
	}
	return record, err
}
