package sqs

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"companyos/shared/queue"
)

// margin is what a batch leaves of the function's time: a function that Lambda kills fails its whole batch, with what
// was handled well.
const margin = time.Second

// Batch handles the messages of one Lambda invocation one after the other and names those that failed: they alone come
// back after the visibility timeout, and go to the dead letters after the queue's maxReceiveCount. A malformed message
// is such a failure. The event source mapping must have ReportBatchItemFailures; without it Lambda deletes the whole
// batch. A second before the function's deadline the handler's context ends, and what was not begun is failed too; so is
// what comes after a failure with queue.ErrAway, which the handler has said and nobody says again.
func Batch(ctx context.Context, event events.SQSEvent, h queue.Handler) events.SQSEventResponse {
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline.Add(-margin))
		defer cancel()
	}
	// Not nil: null is no answer to some receivers, an empty list says that all went well.
	failures := []events.SQSBatchItemFailure{}
	away := false
	for _, record := range event.Records {
		if away {
			failures = append(failures, events.SQSBatchItemFailure{ItemIdentifier: record.MessageId})
			continue
		}
		if err := handle(ctx, record.Body, h); err != nil {
			if away = errors.Is(err, queue.ErrAway); !away {
				slog.ErrorContext(ctx, "message failed", "message_id", record.MessageId,
					"receives", record.Attributes["ApproximateReceiveCount"], "error", err)
			}
			failures = append(failures, events.SQSBatchItemFailure{ItemIdentifier: record.MessageId})
		}
	}
	return events.SQSEventResponse{BatchItemFailures: failures}
}

// handle is one delivery of a body.
func handle(ctx context.Context, body string, h queue.Handler) error {
	id, err := queue.Decode(body)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return h.Call(ctx, id)
}
