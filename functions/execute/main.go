// Command execute handles the queue of work: it runs plain agents, teams and workflows. It may start no sandbox.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/google/uuid"

	"companyos/shared/app"
	"companyos/shared/cloud"
	"companyos/shared/config"
	"companyos/shared/queue/sqs"
	"companyos/shared/source/gitless"
	"companyos/shared/worker"
)

func main() {
	log := cloud.NewLog(os.Stdout)
	slog.SetDefault(log)
	c, err := config.ReadExecute()
	if err != nil {
		fmt.Fprintln(os.Stderr, "execute:", err)
		os.Exit(1)
	}
	work, err := newWorker(c)
	if err != nil {
		fmt.Fprintln(os.Stderr, "execute:", err)
		os.Exit(1)
	}
	open := cloud.Once(func(ctx context.Context) (*app.Company, error) {
		log.LogAttrs(ctx, slog.LevelInfo, "settings", c.Values...)
		return cloud.Open(ctx, cloud.Config(), c.Company, cloud.Parts{Steps: work.Steps.Names(), Sources: gitless.Reader, Channels: channels(c), Log: log})
	})
	lambda.Start(func(ctx context.Context, event events.SQSEvent) (events.SQSEventResponse, error) {
		company, err := open(ctx)
		if err != nil {
			return events.SQSEventResponse{}, err // all messages come back
		}
		return handle(ctx, company, work, log, event), nil
	})
}

func handle(ctx context.Context, company *app.Company, work worker.Worker, log *slog.Logger, event events.SQSEvent) events.SQSEventResponse {
	return sqs.Batch(ctx, event, func(ctx context.Context, id uuid.UUID) error {
		return cloud.Handled(ctx, log, id, company.Execute(ctx, id.String(), work.Run))
	})
}
