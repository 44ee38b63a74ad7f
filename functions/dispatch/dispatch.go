package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/uuid"

	"companyos/shared/app"
	"companyos/shared/cloud"
	"companyos/shared/queue/sqs"
	"companyos/shared/sandbox"
)

// running lists what a launcher runs, of any run.
type running interface {
	Running(ctx context.Context) ([]sandbox.Status, error)
}

// dispatcher handles batches of messages, one at a time.
type dispatcher struct {
	company  *app.Company
	launcher running
	log      *slog.Logger
	searched time.Time // when it last looked for orphans
}

// handle answers one batch. An event of ECS arrives as a message like any other.
func (d *dispatcher) handle(ctx context.Context, event events.SQSEvent) events.SQSEventResponse {
	answer := sqs.Batch(ctx, event, func(ctx context.Context, id uuid.UUID) error {
		return cloud.Handled(ctx, d.log, id, d.company.Advance(ctx, id.String()))
	})
	if len(answer.BatchItemFailures) == 0 {
		d.stopOrphans(ctx)
	}
	return answer
}

const (
	searchEvery = 15 * time.Minute
	searchTime  = 5 * time.Second // what it may take of the batch's time
)

// stopOrphans looks for sandboxes that nobody wants, now and then and after the messages: a change of any sandbox's
// state is a message, so one that runs on is met here sooner or later. Nothing depends on it.
func (d *dispatcher) stopOrphans(ctx context.Context) {
	if time.Since(d.searched) < searchEvery {
		return
	}
	d.searched = time.Now()
	ctx, cancel := context.WithTimeout(ctx, searchTime)
	defer cancel()
	all, err := d.launcher.Running(ctx)
	if err == nil {
		_, err = d.company.StopOrphans(ctx, all)
	}
	if err != nil {
		d.log.WarnContext(ctx, "no search for sandboxes that nobody wants", "error", err)
	}
}
