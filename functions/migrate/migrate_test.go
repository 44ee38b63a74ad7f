package main

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/cfn"

	"companyos/shared/config"
	"companyos/shared/store"
	"companyos/shared/store/storetest"
	"companyos/shared/task"
)

func newMigration(url string) migration {
	return migration{database: config.Database{URL: url}, log: slog.New(slog.DiscardHandler)}
}

// cloudFormation takes the function's answer to one request.
func cloudFormation(t *testing.T, m migration, event cfn.Event) (answer cfn.Response) {
	t.Helper()
	answers := make(chan cfn.Response, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var a cfn.Response
		if err := json.Unmarshal(body, &a); err != nil {
			t.Errorf("%s: %v", body, err)
		}
		answers <- a
	}))
	defer server.Close()
	event.ResponseURL, event.RequestID, event.StackID, event.LogicalResourceID = server.URL, "request", "stack", "migration"
	if _, err := cfn.LambdaWrap(m.answer)(t.Context(), event); err != nil {
		t.Fatal(err)
	}
	return <-answers
}

func empty(t *testing.T) string {
	t.Helper()
	return storetest.New(t, func(context.Context, string) error { return nil }, "empty")
}

func TestCreateAndUpdateMigrateOnce(t *testing.T) {
	t.Parallel()
	url := empty(t)
	for _, request := range []cfn.RequestType{cfn.RequestCreate, cfn.RequestUpdate, cfn.RequestDelete} {
		answer := cloudFormation(t, newMigration(url), cfn.Event{RequestType: request, PhysicalResourceID: physicalID, ResourceProperties: map[string]any{"Version": "1"}})
		if answer.Status != cfn.StatusSuccess || answer.PhysicalResourceID != physicalID {
			t.Errorf("%s: %+v", request, answer)
		}
	}
	db, err := store.Open(t.Context(), store.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Run(t.Context(), "none"); task.KindOf(err) != task.KindNotFound { // the table is there, after the deletion too
		t.Errorf("%v", err)
	}
}

func TestAFailureIsAnsweredShortAndWithoutThePassword(t *testing.T) {
	t.Parallel()
	m := newMigration("postgres://u:hunter2@127.0.0.1:1/d")
	answer := cloudFormation(t, m, cfn.Event{RequestType: cfn.RequestCreate})
	if answer.Status != cfn.StatusFailed || answer.PhysicalResourceID != physicalID || !strings.Contains(answer.Reason, "127.0.0.1") || strings.Contains(answer.Reason, "hunter2") || len(answer.Reason) > mostReason {
		t.Errorf("%+v", answer)
	}
}

// CloudFormation hears of a migration that takes too long before the function is killed.
func TestATimeoutIsAnswered(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), margin+10*time.Millisecond)
	defer cancel()
	began := time.Now()
	_, _, err := newMigration("postgres://u@192.0.2.1:5432/d").answer(ctx, cfn.Event{RequestType: cfn.RequestCreate})
	if err == nil || time.Since(began) > margin/2 {
		t.Errorf("%v after %v", err, time.Since(began))
	}
}

func TestRolesOf(t *testing.T) {
	t.Parallel()
	for properties, want := range map[string]string{
		`{}`: ``,
		`{"Roles":{"company_api":"arn:aws:iam::1:role/api"}}`: `company_api=arn:aws:iam::1:role/api`,
		`{"Roles":["a"]}`:              `error`,
		`{"Roles":{"company_api":1}}`:  `error`,
		`{"Roles":{"company_api":""}}`: `error`,
	} {
		var event cfn.Event
		if err := json.Unmarshal([]byte(`{"ResourceProperties":`+properties+`}`), &event); err != nil {
			t.Fatal(err)
		}
		roles, err := rolesOf(event)
		got := ""
		for user, arn := range roles {
			got += user + "=" + arn
		}
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("%s: %q, %v", properties, got, err)
		}
	}
}
