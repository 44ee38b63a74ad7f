package api

import (
	"context"
	"io"
	"net/http"

	"companyos/shared/store"
	"companyos/shared/task"
	"companyos/shared/wire"
)

// maxShownInput is how much of a run's input a record carries; inputs are bounded by it too.
const maxShownInput = 1 << 20

func (s *server) startRun(ctx context.Context, r *request, in wire.TaskRunCreate) (any, error) {
	start := task.Start{Attempt: max(in.Attempt, 1), By: r.caller, Reason: text(in.Reason), ResultSHA256: in.ResultSHA256}
	started, err := s.Company.StartRun(ctx, r.PathValue("task_id"), start)
	return wire.Started{RunID: started.RunID, SessionID: started.SessionID, Status: started.Status}, err
}

func (s *server) listRuns(ctx context.Context, _ http.ResponseWriter, r *request) (any, error) {
	rows, total, err := s.Company.RunsOfTask(ctx, r.PathValue("task_id"), store.Page{Limit: r.query.Limit, Number: r.query.Page})
	if err != nil {
		return nil, err
	}
	return wire.NewPage(rows, total, r.query, wire.NewListedRun), nil
}

func (s *server) getRun(ctx context.Context, _ http.ResponseWriter, r *request) (any, error) {
	run, err := s.Company.Run(ctx, r.PathValue("run_id"))
	if err != nil {
		return nil, err
	}
	record := wire.NewRun(run, s.input(ctx, &run))
	if record.Waiting != nil && run.State == task.StatePending {
		ahead, err := s.Company.DB.PendingAhead(ctx, &run)
		if err != nil {
			return nil, err
		}
		position := int(ahead) + 1
		record.Waiting.Position = &position
	}
	return record, nil
}

// input is what the run's executor was given, "" when it cannot be read now: the record is worth having without it.
func (s *server) input(ctx context.Context, run *task.Run) string {
	if run.InputKey == "" {
		return ""
	}
	in, _, err := s.Company.Blobs.Get(ctx, run.InputKey)
	if err != nil {
		return ""
	}
	defer in.Close()
	raw, err := io.ReadAll(io.LimitReader(in, maxShownInput))
	if err != nil {
		return ""
	}
	return string(raw)
}

func (s *server) cancelRun(ctx context.Context, _ http.ResponseWriter, r *request) (any, error) {
	return struct{}{}, s.Company.CancelRun(ctx, r.caller, r.PathValue("run_id"))
}
