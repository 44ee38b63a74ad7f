package wire

import "encoding/json"

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
	Status       string                       `json:"status"` // running, success, failed, paused
	StatusCode   *int64                       `json:"status_code"`
	RunID        *string                      `json:"run_id"`
	SessionID    *string                      `json:"session_id"`
	Error        *string                      `json:"error"`
	Input        map[string]json.RawMessage   `json:"input" nullable:"true"`
	Output       map[string]json.RawMessage   `json:"output" nullable:"true"`
	Requirements []map[string]json.RawMessage `json:"requirements" nullable:"true"`
	CreatedAt    *int64                       `json:"created_at"`
}
