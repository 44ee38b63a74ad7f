package sqs

import (
	"context"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"companyos/shared/queue"
)

// The limits of one ReceiveMessage.
const (
	maxBatch = 10
	maxWait  = 20 * time.Second
)

// Receiver is what receiving needs of *sqs.Client.
type Receiver interface {
	ReceiveMessage(ctx context.Context, in *sqs.ReceiveMessageInput, opts ...func(*sqs.Options)) (*sqs.ReceiveMessageOutput, error)
	DeleteMessage(ctx context.Context, in *sqs.DeleteMessageInput, opts ...func(*sqs.Options)) (*sqs.DeleteMessageOutput, error)
	ChangeMessageVisibility(ctx context.Context, in *sqs.ChangeMessageVisibilityInput, opts ...func(*sqs.Options)) (*sqs.ChangeMessageVisibilityOutput, error)
}

// PollerConfig tunes a Poller. The zero value of a field means its default.
type PollerConfig struct {
	Concurrency   int           // handlers at once; 8
	Wait          time.Duration // length of a long poll, in whole seconds; 20 seconds, the longest SQS allows
	RetryDelay    time.Duration // wait after the first failure, doubled at each further one, in whole seconds; none
	MaxRetryDelay time.Duration // the longest such wait; 1 minute
	Grace         time.Duration // time that running handlers have when Run is told to stop; 30 seconds
}

// Poller receives from one SQS queue where no event source mapping does. Visibility timeout and dead letters are the
// queue's own: its redrive policy moves a message that failed too often.
type Poller struct {
	client Receiver
	url    string
	cfg    PollerConfig
}

// NewPoller returns a Poller of the queue at url.
func NewPoller(client Receiver, url string, cfg PollerConfig) *Poller {
	if cfg.Concurrency <= 0 {
		cfg.Concurrency = 8
	}
	if cfg.Wait <= 0 || cfg.Wait > maxWait {
		cfg.Wait = maxWait
	}
	if cfg.MaxRetryDelay <= 0 {
		cfg.MaxRetryDelay = time.Minute
	}
	if cfg.Grace <= 0 {
		cfg.Grace = 30 * time.Second
	}
	return &Poller{client: client, url: url, cfg: cfg}
}

// Run receives until ctx is done, waits for the handlers that run and returns nil. It takes no more messages than it
// has handlers free, so that none waits here while its visibility runs out. A failure to receive is logged and tried
// again.
func (p *Poller) Run(ctx context.Context, h queue.Handler) error {
	handling, cancel := queue.Linger(ctx, p.cfg.Grace)
	defer cancel()
	var handlers sync.WaitGroup
	defer handlers.Wait()
	slots := make(chan struct{}, p.cfg.Concurrency)
	for failed := 0; ; {
		free := acquire(ctx, slots)
		if free == 0 {
			return nil
		}
		received, err := p.receive(ctx, free)
		if err != nil && ctx.Err() == nil {
			slog.ErrorContext(ctx, "receive failed", "queue", p.url, "error", err)
			failed++
			pause(ctx, queue.Backoff(failed, 500*time.Millisecond, 30*time.Second))
		} else {
			failed = 0
		}
		for range free - len(received) {
			<-slots
		}
		for _, m := range received {
			handlers.Go(func() {
				defer func() { <-slots }()
				p.settle(handling, m, handle(handling, aws.ToString(m.Body), h))
			})
		}
	}
}

// acquire waits for one slot and takes what else is free, at most a batch. It returns 0 when ctx is done.
func acquire(ctx context.Context, slots chan struct{}) int {
	select {
	case <-ctx.Done():
		return 0
	case slots <- struct{}{}:
	}
	if ctx.Err() != nil {
		return 0
	}
	for n := 1; n < maxBatch; n++ {
		select {
		case slots <- struct{}{}:
		default:
			return n
		}
	}
	return maxBatch
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

func (p *Poller) receive(ctx context.Context, most int) ([]types.Message, error) {
	out, err := p.client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
		QueueUrl:                    &p.url,
		MaxNumberOfMessages:         int32(most),
		WaitTimeSeconds:             wholeSeconds(p.cfg.Wait),
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameApproximateReceiveCount},
	})
	if err != nil {
		return nil, err
	}
	return out.Messages, nil
}

// settle deletes what was handled and brings back what failed. Where either fails the message comes back by itself
// when its visibility timeout ends.
func (p *Poller) settle(ctx context.Context, m types.Message, failure error) {
	if failure == nil {
		if _, err := p.client.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: &p.url, ReceiptHandle: m.ReceiptHandle}); err != nil {
			slog.WarnContext(ctx, "handled message not deleted, it comes again", "message_id", aws.ToString(m.MessageId), "error", err)
		}
		return
	}
	receives, _ := strconv.Atoi(m.Attributes[string(types.MessageSystemAttributeNameApproximateReceiveCount)])
	slog.WarnContext(ctx, "message failed", "message_id", aws.ToString(m.MessageId), "receives", receives, "error", failure)
	_, err := p.client.ChangeMessageVisibility(ctx, &sqs.ChangeMessageVisibilityInput{
		QueueUrl: &p.url, ReceiptHandle: m.ReceiptHandle,
		VisibilityTimeout: wholeSeconds(queue.Backoff(receives, p.cfg.RetryDelay, p.cfg.MaxRetryDelay)),
	})
	if err != nil {
		slog.WarnContext(ctx, "failed message comes again only after its visibility timeout", "message_id", aws.ToString(m.MessageId), "error", err)
	}
}
