package company

import (
	"strings"
	"time"

	"companyos/shared/task"
)

// Decision is something that was decided, kept as it was written.
type Decision struct {
	ID        string
	Decision  string
	Reasoning *string
	Context   *string
	Outcome   *string
	UserID    *string
	AgentID   *string // of the agent that recorded it, if one did
	SessionID *string // of that agent's work
	CreatedAt time.Time
}

// Validate returns KindInvalid for a decision that says nothing.
func (d Decision) Validate() error {
	if strings.TrimSpace(d.Decision) == "" {
		return task.Invalidf("decision_blank", "Say what was decided.", "decision must be non-empty")
	}
	return nil
}
