// Command dispatch handles the queue of attempts: each message names a run, which is looked at, and what is due is done.
// It alone may start and stop sandboxes.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/service/ecs"

	"companyos/shared/cloud"
	"companyos/shared/config"
	"companyos/shared/sandbox/fargate"
)

func main() {
	log := cloud.NewLog(os.Stdout)
	slog.SetDefault(log)
	c, err := config.ReadDispatch()
	if err != nil {
		fmt.Fprintln(os.Stderr, "dispatch:", err)
		os.Exit(1)
	}
	open := cloud.Once(func(ctx context.Context) (*dispatcher, error) { return newDispatcher(ctx, c, log) })
	lambda.Start(func(ctx context.Context, event events.SQSEvent) (events.SQSEventResponse, error) {
		d, err := open(ctx)
		if err != nil {
			return events.SQSEventResponse{}, err // all messages come back
		}
		return d.handle(ctx, event), nil
	})
}

func newDispatcher(ctx context.Context, c config.Dispatch, log *slog.Logger) (*dispatcher, error) {
	log.LogAttrs(ctx, slog.LevelInfo, "settings", c.Values...)
	aws := cloud.Config()
	launcher := fargate.New(ecs.NewFromConfig(aws), fargate.Config{
		Cluster: c.Cluster, TaskDefinition: c.TaskDefinition, Subnets: c.Subnets, SecurityGroups: c.SecurityGroups,
		PublicIP: c.AssignPublicIP, Spot: c.CapacityProvider == "FARGATE_SPOT",
	})
	company, err := cloud.Open(ctx, aws, c.Company, cloud.Parts{Sandboxes: launcher, Log: log})
	if err != nil {
		return nil, err
	}
	return &dispatcher{company: company, launcher: launcher, log: log}, nil
}
