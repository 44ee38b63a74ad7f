package api

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"companyos/shared/app"
	"companyos/shared/executor"
	"companyos/shared/store"
	"companyos/shared/task"
	"companyos/shared/wire"
)

// sandboxToken reads a sandbox's token by its form alone: a launch token opens claim, a session token the other routes.
// A person's token has another form and opens none.
func sandboxToken(r *http.Request, route string) (string, error) {
	raw, err := bearer(r)
	if err != nil {
		return "", err
	}
	wanted := task.TokenSession
	if route == "sandbox.claim" {
		wanted = task.TokenLaunch
	}
	token, ok := task.ParseToken(raw)
	if !ok || token.Kind != wanted {
		return "", unauthorized("token_refused", "Invalid token")
	}
	return raw, nil
}

func (s *server) claim(ctx context.Context, r *request, in wire.ClaimRequest) (any, error) {
	c, err := s.Company.Claim(ctx, r.token, in.Instance)
	if err != nil {
		return nil, err
	}
	secrets := c.Secrets
	if secrets == nil {
		secrets = map[string]string{}
	}
	return wire.ClaimResponse{Session: c.Session, ExpiresAt: c.ExpiresAt.Unix(), Secrets: secrets, Work: work(c.Work)}, nil
}

func work(w app.Work) wire.Work {
	out := wire.Work{
		Version: wire.WorkVersion, RunID: w.RunID, Launch: w.Launch, TaskID: w.TaskID, SessionID: w.SessionID, Attempt: w.Attempt,
		Deadline: w.Deadline.Unix(), Harness: string(w.Harness), Model: w.Model, InputURL: w.InputURL, Instructions: w.Instructions,
		Limits: limits(w.Limits), Egress: append([]string{}, w.Egress...), Company: w.Company,
	}
	if p := w.Price; p != nil {
		out.Price = &wire.WorkPrice{Input: p.Input, Output: p.Output, CacheRead: p.CacheRead, CacheWrite: p.CacheWrite}
	}
	if w.Repository.URL != "" {
		out.Repository = &wire.WorkRepository{URL: w.Repository.URL, Branch: w.Repository.Branch}
		if w.Commit != "" {
			out.Repository.Commit = &w.Commit
		}
	}
	if w.Transcript != nil {
		out.Session = &wire.WorkTranscript{TranscriptURL: w.Transcript.URL, SHA256: w.Transcript.SHA256}
	}
	if w.Patch != nil {
		out.Patch = &wire.WorkPatch{URL: w.Patch.URL, SHA256: w.Patch.SHA256}
	}
	return out
}

func limits(l executor.Limits) wire.WorkLimits {
	seconds := func(d time.Duration) wire.Seconds { return wire.Seconds((d + time.Second - 1) / time.Second) }
	return wire.WorkLimits{
		Prepare: seconds(l.Prepare), Run: seconds(l.Run), Idle: seconds(l.Idle), CancelGrace: seconds(l.CancelGrace),
		BudgetUSD: l.BudgetUSD, Output: l.Output,
	}
}

func (s *server) prepared(ctx context.Context, r *request, in wire.PreparedRequest) (any, error) {
	got := task.RunCheckout{URL: in.URL, Branch: in.Branch, Commit: strings.ToLower(in.Commit)}
	return wire.PreparedResponse{Go: true}, s.Company.Prepared(ctx, r.token, got, in.Warnings)
}

func (s *server) events(ctx context.Context, r *request, in wire.EventsRequest) (any, error) {
	events := make([]store.Event, len(in.Events))
	for i, e := range in.Events {
		body, err := eventBody(e)
		if err != nil {
			return nil, err
		}
		events[i] = store.Event{At: time.Unix(e.At, 0).UTC(), Type: string(e.Type), Body: body}
	}
	cancel, err := s.Company.Events(ctx, r.token, in.N, events)
	return wire.EventsResponse{Cancel: cancel}, err
}

// eventBody is an event without what is stored beside it.
func eventBody(e wire.Event) (json.RawMessage, error) {
	raw, err := wire.Marshal(e)
	if err != nil {
		return nil, err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return nil, err
	}
	for _, beside := range []string{"seq", "at", "type"} {
		delete(fields, beside)
	}
	return wire.Marshal(fields)
}

func (s *server) artifact(ctx context.Context, r *request, in wire.ArtifactRequest) (any, error) {
	url, err := s.Company.Artifact(ctx, r.token, string(in.Kind), strings.ToLower(in.SHA256), in.Size)
	return wire.ArtifactResponse{PutURL: url}, err
}

func (s *server) result(ctx context.Context, r *request, in wire.ResultRequest) (any, error) {
	return wire.ResultResponse{Accepted: true}, s.Company.Result(ctx, r.token, strings.ToLower(in.SHA256))
}
