package api

import (
	"context"
	"net/http"

	"companyos/shared/app"
	"companyos/shared/company"
	"companyos/shared/store"
	"companyos/shared/wire"
)

func (s *server) listDecisions(ctx context.Context, _ http.ResponseWriter, r *request) (any, error) {
	days := int64(0)
	if r.query.Days != nil {
		days = *r.query.Days
	}
	rows, total, err := s.Company.Decisions(ctx, store.Page{Limit: r.query.Limit, Number: r.query.Page}, store.DecisionFilter{
		Text: text(r.query.Text), AgentID: r.query.AgentID, SessionID: r.query.SessionID,
	}, days)
	if err != nil {
		return nil, err
	}
	return wire.NewPage(rows, total, r.query, wire.NewDecision), nil
}

func (s *server) createDecision(ctx context.Context, r *request, in wire.DecisionCreate) (company.Decision, error) {
	return s.Company.RecordDecision(ctx, r.caller, app.DecisionInput{
		Decision: in.Decision, Reasoning: in.Reasoning, Context: in.Context, Outcome: in.Outcome,
	})
}
