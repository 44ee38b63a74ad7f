package wire

import (
	"encoding/json"

	"companyos/shared/routine"
)

// RoutineRecord is a Routine's record: its schedule and its latest run.
type RoutineRecord struct {
	ID                string                     `json:"id"`
	UserID            *string                    `json:"user_id"`
	Name              string                     `json:"name"`
	Description       *string                    `json:"description"`
	Method            string                     `json:"method"`
	Endpoint          string                     `json:"endpoint"`
	Payload           map[string]json.RawMessage `json:"payload" nullable:"true"`
	CronExpr          *string                    `json:"cron_expr"`
	Timezone          string                     `json:"timezone"`
	TimeoutSeconds    int64                      `json:"timeout_seconds"`
	MaxRetries        int64                      `json:"max_retries"`
	RetryDelaySeconds int64                      `json:"retry_delay_seconds"`
	Enabled           bool                       `json:"enabled"`
	NextRunAt         *int64                     `json:"next_run_at"`
	ManagedBy         *string                    `json:"managed_by"`
	TargetType        *string                    `json:"target_type"`
	TargetID          *string                    `json:"target_id"`
	DisabledReason    *string                    `json:"disabled_reason"`
	CreatedAt         *int64                     `json:"created_at"`
	UpdatedAt         *int64                     `json:"updated_at"`
	ScheduleType      string                     `json:"schedule_type"` // scheduled, on_demand
	LastRun           *RoutineLastRun            `json:"last_run"`
}

// RoutineLastRun is how a Routine's latest run went.
type RoutineLastRun struct {
	Status      string  `json:"status"`
	TriggeredAt *int64  `json:"triggered_at"`
	CompletedAt *int64  `json:"completed_at"`
	RunID       *string `json:"run_id"`
	SessionID   *string `json:"session_id"`
	Error       *string `json:"error"`
}

// ScheduleRun is one run of a Routine.
type ScheduleRun struct {
	ID           string                       `json:"id"`
	ScheduleID   string                       `json:"schedule_id"`
	UserID       *string                      `json:"user_id"`
	Attempt      int64                        `json:"attempt"`
	TriggeredAt  *int64                       `json:"triggered_at"`
	CompletedAt  *int64                       `json:"completed_at"`
	Status       string                       `json:"status"` // running, success, failed, paused, skipped, cancelled
	StatusCode   *int64                       `json:"status_code"`
	RunID        *string                      `json:"run_id"`
	SessionID    *string                      `json:"session_id"`
	Error        *string                      `json:"error"`
	Input        map[string]json.RawMessage   `json:"input" nullable:"true"`
	Output       map[string]json.RawMessage   `json:"output" nullable:"true"`
	Requirements []map[string]json.RawMessage `json:"requirements" nullable:"true"`
	CreatedAt    *int64                       `json:"created_at"`
}

// NewRoutine builds a Routine's record. The rights that were saved with it are not shown.
func NewRoutine(r routine.Routine) RoutineRecord {
	kind, schedule := string(r.ExecutorType), "scheduled"
	if r.CronExpr == nil {
		schedule = "on_demand"
	}
	out := RoutineRecord{
		ID: r.ID, UserID: &r.UserID, Name: r.Name, Method: "POST", Endpoint: "/" + kind + "s/" + r.ExecutorID + "/runs",
		Payload: routinePayload(&r), CronExpr: r.CronExpr, Timezone: r.Timezone, TimeoutSeconds: 3600, RetryDelaySeconds: 60,
		Enabled: r.Enabled, NextRunAt: seconds(r.NextRunAt), ManagedBy: ptr("company"), TargetType: &kind, TargetID: &r.ExecutorID,
		DisabledReason: r.DisabledReason, CreatedAt: epoch(r.CreatedAt), UpdatedAt: epoch(r.UpdatedAt), ScheduleType: schedule,
	}
	if l := r.LastRun; l != nil {
		out.LastRun = &RoutineLastRun{
			Status: string(l.Status), TriggeredAt: epoch(l.TriggeredAt), CompletedAt: seconds(l.CompletedAt), RunID: notEmpty(l.RunID),
			SessionID: notEmpty(l.SessionID), Error: l.Error,
		}
	}
	return out
}

func routinePayload(r *routine.Routine) map[string]json.RawMessage {
	var policy any = false
	if r.Policy != nil {
		policy = r.Policy
	}
	return map[string]json.RawMessage{
		"message":  raw(r.Message()),
		"metadata": raw(map[string]any{"product_id": r.ProductID, "template": r.Template, "auto_accept": policy}),
	}
}

// raw writes a value that always has a JSON form.
func raw(v any) json.RawMessage {
	b, err := Marshal(v)
	if err != nil {
		panic(err) // text and records only
	}
	return b
}

// NewScheduleRun builds the record of a Routine's run.
func NewScheduleRun(r routine.Run) ScheduleRun {
	out := ScheduleRun{
		ID: r.ID, ScheduleID: r.RoutineID, UserID: r.UserID, Attempt: 1, TriggeredAt: epoch(r.TriggeredAt), CompletedAt: seconds(r.CompletedAt),
		Status: string(r.Status), RunID: notEmpty(r.RunID), SessionID: notEmpty(r.SessionID), Error: r.Error,
		Input: map[string]json.RawMessage{"input_content": raw(r.Message)}, CreatedAt: epoch(r.TriggeredAt),
	}
	if r.Status == routine.StatusSuccess {
		out.StatusCode = ptr[int64](200)
	}
	if r.Output != nil && json.Unmarshal(r.Output, &out.Output) != nil {
		out.Output = nil
	}
	return out
}

// Policy is the rule with what was left out filled in.
func (a *AutoAcceptRule) Policy() *routine.Policy {
	if a == nil {
		return nil
	}
	p := &routine.Policy{
		ExecutorType: a.ExecutorType, ExecutorID: a.ExecutorID, SourceIDs: a.SourceIDs, RequiredChecks: a.RequiredChecks,
		Limits: routine.Limits{ExpiresAt: a.Limits.ExpiresAt, MaxAcceptances: 1}, CompleteProjects: a.CompleteProjects,
	}
	if a.WorkScope != nil {
		p.WorkScope = &routine.Scope{ProductIDs: a.WorkScope.ProductIDs, ProjectIDs: a.WorkScope.ProjectIDs}
	}
	if p.RequiredChecks == nil {
		p.RequiredChecks = []string{routine.CheckRegistered}
	}
	if a.Limits.MaxAcceptances != nil {
		p.Limits.MaxAcceptances = *a.Limits.MaxAcceptances
	}
	return p
}
