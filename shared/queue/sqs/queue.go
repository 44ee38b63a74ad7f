// Package sqs is the queue on Amazon SQS: a standard queue with a redrive policy. Send is for whoever wakes a run,
// Batch for the Lambda function behind an event source mapping, Poller for a process that receives by itself.
package sqs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go"
	"github.com/google/uuid"

	"companyos/shared/queue"
)

// Sending is bounded: a request that waits for its wake must answer, and what was not sent is sent again by sweep.
const (
	maxAttempts = 5
	maxBackoff  = 4 * time.Second
)

// Sender is what sending needs of *sqs.Client.
type Sender interface {
	SendMessage(ctx context.Context, in *sqs.SendMessageInput, opts ...func(*sqs.Options)) (*sqs.SendMessageOutput, error)
}

// Queue sends to one SQS queue. It implements queue.Queue.
type Queue struct {
	client  Sender
	url     string
	retryer aws.Retryer
}

// New returns the queue at url.
func New(client Sender, url string) *Queue {
	return &Queue{client: client, url: url, retryer: newRetryer(nil)}
}

// Send implements queue.Queue. SQS counts whole seconds: a delay is rounded up, a wake never comes early for that.
// Throttling is retried with jitter; its error, like that of a lost connection, leaves open whether SQS has the message.
func (q *Queue) Send(ctx context.Context, runID uuid.UUID, delay time.Duration) error {
	body, err := queue.Encode(runID)
	if err != nil {
		return fmt.Errorf("send: %w", err)
	}
	_, err = q.client.SendMessage(ctx, &sqs.SendMessageInput{
		QueueUrl: &q.url, MessageBody: &body, DelaySeconds: wholeSeconds(queue.ClampDelay(delay)),
	}, func(o *sqs.Options) { o.Retryer = q.retryer })
	if err != nil {
		return fmt.Errorf("send run %s: %w", runID, err)
	}
	return nil
}

func wholeSeconds(d time.Duration) int32 { return int32((d + time.Second - 1) / time.Second) }

// newRetryer is the SDK's standard one, with jitter, that also knows SQS's own names of throttling. A nil backoff is
// the SDK's.
func newRetryer(backoff retry.BackoffDelayer) aws.Retryer {
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts = maxAttempts
		o.MaxBackoff = maxBackoff
		o.Backoff = backoff
		o.Retryables = append(o.Retryables, retry.IsErrorRetryableFunc(throttled))
		o.Throttles = append(o.Throttles, retry.IsErrorThrottleFunc(throttled))
	})
}

// throttled knows the throttles of SQS. They keep the names of the old query protocol
// ("AWS.SimpleQueueService.RequestThrottled", "AWS.SimpleQueueService.ThrottlingException"), which the SDK's own list
// does not have.
func throttled(err error) aws.Ternary {
	api, ok := errors.AsType[smithy.APIError](err)
	if !ok {
		return aws.UnknownTernary
	}
	code := api.ErrorCode()
	code = code[strings.LastIndexByte(code, '.')+1:]
	if _, known := retry.DefaultThrottleErrorCodes[code]; known || code == "KmsThrottled" {
		return aws.TrueTernary
	}
	return aws.UnknownTernary
}
