package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"

	"companyos/functions/sweep/checks"
	"companyos/shared/api"
	"companyos/shared/cloud"
	"companyos/shared/config"
	"companyos/shared/lambdahttp"
)

func serve(ctx context.Context, c config.API, log *slog.Logger) (lambdahttp.Handler, error) {
	log.LogAttrs(ctx, slog.LevelInfo, "settings", c.Values...)
	var roles *api.Roles
	if c.Roles != "" {
		var err error
		if roles, err = api.ParseRoles([]byte(c.Roles)); err != nil {
			return nil, err
		}
	}
	// The issuer's keys are kept up to date beyond the event that fetched them.
	verifier, err := api.NewVerifier(context.WithoutCancel(ctx), api.AuthConfig{
		HS256Secret: c.JWTHS256Secret, Issuer: c.JWTIssuer, Audience: c.JWTAudience, GroupsClaim: c.GroupsClaim, Roles: roles,
	})
	if err != nil {
		return nil, err
	}
	company, err := cloud.Open(ctx, cloud.Config(), c.Company, cloud.Parts{Checks: checks.Registered(), Log: log})
	if err != nil {
		return nil, err
	}
	return lambdahttp.Serve(api.New(api.Config{Company: company, Auth: verifier, Log: log, RequestID: lambdahttp.RequestID}), log), nil
}

// notReady answers while what the server is made of cannot be had: executors, or the database's URL.
func notReady(log *slog.Logger) lambdahttp.Handler {
	return lambdahttp.Serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := json.Marshal(map[string]any{
			"detail": "The service is starting", "code": "not_ready", "remedy": "Try again in a few seconds.", "retryable": true,
			"request_id": lambdahttp.RequestID(r),
		})
		if err != nil {
			panic(err) // texts and a truth value
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Retry-After", "5")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write(body) // into memory
	}), log)
}
