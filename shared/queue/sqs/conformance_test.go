package sqs_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/uuid"
	"github.com/sivchari/kumo"

	"companyos/shared/queue"
	"companyos/shared/queue/queuetest"
	"companyos/shared/queue/sqs"
)

const (
	maxReceive = 3
	visibility = 2 * time.Second
)

// newClient returns a client of the server at url.
func newClient(url string) *awssqs.Client {
	return awssqs.New(awssqs.Options{
		Region:       "eu-central-1",
		BaseEndpoint: &url,
		Credentials:  credentials.NewStaticCredentialsProvider("key", "secret", ""),
	})
}

// queues is a queue and its dead letters on a server that speaks SQS.
type queues struct {
	client    *awssqs.Client
	url, dead string
}

func newQueues(t *testing.T, client *awssqs.Client) *queues {
	t.Helper()
	name := uuid.NewString()
	create := func(name string, attributes map[string]string) string {
		out, err := client.CreateQueue(t.Context(), &awssqs.CreateQueueInput{QueueName: &name, Attributes: attributes})
		if err != nil {
			t.Fatalf("CreateQueue: %v", err)
		}
		return *out.QueueUrl
	}
	dead := create(name+"-dead", nil)
	arn, err := client.GetQueueAttributes(t.Context(), &awssqs.GetQueueAttributesInput{QueueUrl: &dead, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameQueueArn}})
	if err != nil {
		t.Fatalf("GetQueueAttributes: %v", err)
	}
	return &queues{client: client, dead: dead, url: create(name, map[string]string{
		"VisibilityTimeout": fmt.Sprint(int(visibility.Seconds())),
		"RedrivePolicy":     fmt.Sprintf(`{"deadLetterTargetArn":%q,"maxReceiveCount":%d}`, arn.Attributes["QueueArn"], maxReceive),
	})}
}

// sendBody puts any body on the queue.
func (q *queues) sendBody(t *testing.T, body string) {
	t.Helper()
	if _, err := q.client.SendMessage(t.Context(), &awssqs.SendMessageInput{QueueUrl: &q.url, MessageBody: &body}); err != nil {
		t.Fatal(err)
	}
}

// takeDead takes the bodies that are among the dead letters now.
func (q *queues) takeDead(t *testing.T) []string {
	t.Helper()
	out, err := q.client.ReceiveMessage(t.Context(), &awssqs.ReceiveMessageInput{QueueUrl: &q.dead, MaxNumberOfMessages: 10, VisibilityTimeout: 600})
	if err != nil {
		t.Fatal(err)
	}
	var bodies []string
	for _, m := range out.Messages {
		bodies = append(bodies, aws.ToString(m.Body))
	}
	return bodies
}

func TestConformance(t *testing.T) {
	t.Parallel()
	server := kumo.NewServer()
	t.Cleanup(server.Close)
	client := newClient(server.URL)
	queuetest.Run(t, func(t *testing.T) queuetest.Bench {
		q := newQueues(t, client)
		const concurrency = 4
		poller := sqs.NewPoller(client, q.url, sqs.PollerConfig{Concurrency: concurrency, Wait: time.Second, RetryDelay: time.Millisecond})
		var mu sync.Mutex
		var dead []uuid.UUID
		return queuetest.Bench{
			Queue: sqs.New(client, q.url),
			Run:   poller.Run,
			Dead: func(t *testing.T) []uuid.UUID {
				mu.Lock()
				defer mu.Unlock()
				for _, body := range q.takeDead(t) {
					id, err := queue.Decode(body)
					if err != nil {
						t.Fatal(err)
					}
					dead = append(dead, id)
				}
				return dead
			},
			Unit:       time.Second,
			MaxReceive: maxReceive, Concurrency: concurrency, Visibility: visibility,
		}
	})
	t.Run("MalformedGoesToTheDeadLetters", func(t *testing.T) {
		t.Parallel()
		malformedGoesToTheDeadLetters(t, newQueues(t, client))
	})
	t.Run("StartedByIsUnderstood", func(t *testing.T) {
		t.Parallel()
		startedByIsUnderstood(t, newQueues(t, client))
	})
}

// Poison is not handled, does not stop the others and ends among the dead letters.
func malformedGoesToTheDeadLetters(t *testing.T, q *queues) {
	good := uuid.New()
	q.sendBody(t, `{"v":2,"run":"6ba7b810-9dad-11d1-80b4-00c04fd430c8"}`)
	q.sendBody(t, `not JSON`)
	if err := sqs.New(q.client, q.url).Send(t.Context(), good, 0); err != nil {
		t.Fatal(err)
	}
	handled := receive(t, q)
	if id := <-handled; id != good {
		t.Errorf("handled %s, want %s", id, good)
	}
	var dead []string
	for end := time.Now().Add(15 * time.Second); len(dead) < 2 && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		dead = append(dead, q.takeDead(t)...)
	}
	if len(dead) != 2 || len(handled) != 0 {
		t.Errorf("dead letters %q, %d more handled", dead, len(handled))
	}
}

func startedByIsUnderstood(t *testing.T, q *queues) {
	id := uuid.New()
	q.sendBody(t, fmt.Sprintf(`{"v":1,"run":"%s/2"}`, id))
	if got := <-receive(t, q); got != id {
		t.Errorf("handled %s, want %s", got, id)
	}
}

// receive polls the queue until the test's end and returns what was handled.
func receive(t *testing.T, q *queues) <-chan uuid.UUID {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	handled, done := make(chan uuid.UUID, 100), make(chan error, 1)
	poller := sqs.NewPoller(q.client, q.url, sqs.PollerConfig{Wait: time.Second})
	go func() {
		done <- poller.Run(ctx, func(_ context.Context, id uuid.UUID) error { handled <- id; return nil })
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	return handled
}
