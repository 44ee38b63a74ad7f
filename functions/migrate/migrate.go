package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-lambda-go/cfn"
	"github.com/aws/aws-sdk-go-v2/aws"

	"companyos/shared/cloud"
	"companyos/shared/config"
	"companyos/shared/store/schema"
)

// physicalID stays the same for ever: CloudFormation deletes a resource whose id changes.
const physicalID = "schema"

// margin is what a migration leaves of the function's time to say that it failed: CloudFormation waits for an answer.
const margin = 15 * time.Second

// mostReason is how much of an error CloudFormation shows.
const mostReason = 1000

type migration struct {
	aws      aws.Config
	database config.Database
	log      *slog.Logger
}

// answer handles one request of CloudFormation. Deleting the resource leaves the schema alone.
func (m migration) answer(ctx context.Context, event cfn.Event) (id string, data map[string]any, err error) {
	if event.RequestType == cfn.RequestDelete {
		return physicalID, nil, nil
	}
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline.Add(-margin))
		defer cancel()
	}
	roles, err := rolesOf(event)
	if err == nil {
		err = m.run(ctx, roles)
	}
	if err != nil {
		m.log.ErrorContext(ctx, "the schema was not migrated", "error", err)
		return physicalID, nil, errors.New(cut(err.Error()))
	}
	m.log.InfoContext(ctx, "the schema is up to date")
	return physicalID, nil, nil
}

// rolesOf reads the property Roles: database role → ARN of the IAM role that signs in as it.
func rolesOf(event cfn.Event) (map[string]string, error) {
	property, given := event.ResourceProperties["Roles"]
	if !given {
		return nil, nil
	}
	listed, ok := property.(map[string]any)
	if !ok {
		return nil, errors.New("the property Roles is not a map")
	}
	roles := make(map[string]string, len(listed))
	for user, arn := range listed {
		text, ok := arn.(string)
		if !ok || user == "" || text == "" {
			return nil, fmt.Errorf("the property Roles: %q has no ARN", user)
		}
		roles[user] = text
	}
	return roles, nil
}

func (m migration) run(ctx context.Context, roles map[string]string) error {
	c, err := cloud.Database(ctx, m.aws, m.database)
	if err != nil {
		return err
	}
	if m.database.DSQLEndpoint == "" {
		return schema.Migrate(ctx, c.URL)
	}
	if err := schema.MigrateDSQL(ctx, c); err != nil {
		return err
	}
	for _, user := range slices.Sorted(maps.Keys(roles)) {
		if err := schema.GrantDSQL(ctx, c, user, []string{roles[user]}); err != nil {
			return err
		}
	}
	return nil
}

func cut(text string) string { return text[:min(len(text), mostReason)] }
