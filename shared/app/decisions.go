package app

import (
	"context"
	"time"

	"github.com/google/uuid"

	"companyos/shared/company"
	"companyos/shared/store"
	"companyos/shared/task"
)

// DecisionInput is a new decision. AgentID and SessionID are an agent's that records it itself.
type DecisionInput struct {
	Decision  string
	Reasoning *string
	Context   *string
	Outcome   *string
	AgentID   *string
	SessionID *string
}

// RecordDecision adds a decision. KindInvalid for one that says nothing.
func (c *Company) RecordDecision(ctx context.Context, by task.Caller, in DecisionInput) (company.Decision, error) {
	d := company.Decision{
		ID: uuid.NewString(), Decision: in.Decision, Reasoning: in.Reasoning, Context: in.Context, Outcome: in.Outcome,
		UserID: &by.ID, AgentID: in.AgentID, SessionID: in.SessionID, CreatedAt: c.now(),
	}
	if err := d.Validate(); err != nil {
		return d, err
	}
	err := c.create(ctx, by, func() any { return d }, func(ctx context.Context, tx *store.Tx) error { return tx.InsertDecision(ctx, &d) })
	return d, err
}

// maxDays is the number of days from which on a limit selects everything: no decision is older.
const maxDays = 100_000

// Decisions returns one page of decisions, newest first, and the number of all that are selected; days selects those of
// so many last days, 0 all.
func (c *Company) Decisions(ctx context.Context, page store.Page, f store.DecisionFilter, days int64) ([]company.Decision, int64, error) {
	if days > 0 && days < maxDays {
		f.Since = ptr(c.now().Add(-time.Duration(days) * 24 * time.Hour))
	}
	return c.DB.Decisions(ctx, page, f)
}
