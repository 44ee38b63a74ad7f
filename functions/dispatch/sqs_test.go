package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/sivchari/kumo"

	"companyos/shared/queue/sqs"
	"companyos/shared/sandbox"
	"companyos/shared/sandbox/fargate/ecstest"
	"companyos/shared/store"
	"companyos/shared/task"
)

func batch(bodies ...string) (event events.SQSEvent) {
	for i, body := range bodies {
		event.Records = append(event.Records, record(i, body))
	}
	return event
}

func specOf(r task.Run) sandbox.Spec {
	return sandbox.Spec{RunID: r.ID, Launch: max(r.Launch, 1), Token: "cl1", APIURL: "https://company.example", CPU: 1024, Memory: 2048, Disk: 21}
}

// The function behind a real queue: what failed comes back alone and ends among the dead letters.
func TestBehindSQS(t *testing.T) {
	t.Parallel()
	server := kumo.NewServer()
	t.Cleanup(server.Close)
	client := awssqs.New(awssqs.Options{Region: "eu-central-1", BaseEndpoint: &server.URL, Credentials: credentials.NewStaticCredentialsProvider("key", "secret", "")})
	create := func(name string, attributes map[string]string) string {
		out, err := client.CreateQueue(t.Context(), &awssqs.CreateQueueInput{QueueName: &name, Attributes: attributes})
		if err != nil {
			t.Fatal(err)
		}
		return *out.QueueUrl
	}
	dead := create("dead", nil)
	arn, err := client.GetQueueAttributes(t.Context(), &awssqs.GetQueueAttributesInput{QueueUrl: &dead, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameQueueArn}})
	if err != nil {
		t.Fatal(err)
	}
	live := create("live", map[string]string{
		"VisibilityTimeout": "1", "RedrivePolicy": fmt.Sprintf(`{"deadLetterTargetArn":%q,"maxReceiveCount":2}`, arn.Attributes["QueueArn"]),
	})
	w := open(t, 2, ecstest.Options{})
	w.Company.Attempts = sqs.New(client, live)
	one, err := store.Open(t.Context(), store.Config{URL: w.DB.Pool().Config().ConnString(), MaxConns: 1}) // as a function has
	w.must(err)
	t.Cleanup(one.Close)
	w.Company.DB = one
	w.reserve() // the wakes go to the real queue
	if _, err := client.SendMessage(t.Context(), &awssqs.SendMessageInput{QueueUrl: &live, MessageBody: aws.String("poison")}); err != nil {
		t.Fatal(err)
	}
	letters := func() int {
		out, err := client.ReceiveMessage(t.Context(), &awssqs.ReceiveMessageInput{QueueUrl: &dead, VisibilityTimeout: 600})
		if err != nil {
			t.Fatal(err)
		}
		return len(out.Messages)
	}
	poisoned := 0
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end) && (poisoned == 0 || len(w.ecs.Tasks()) == 0); poisoned += letters() {
		w.poll(t.Context(), client, live)
	}
	if poisoned != 1 || len(w.ecs.Tasks()) != 1 {
		t.Errorf("%d dead letters, %d sandboxes", poisoned, len(w.ecs.Tasks()))
	}
}

// poll is what an event source mapping with ReportBatchItemFailures does once.
func (w *office) poll(ctx context.Context, client *awssqs.Client, url string) {
	w.T.Helper()
	out, err := client.ReceiveMessage(ctx, &awssqs.ReceiveMessageInput{
		QueueUrl: &url, MaxNumberOfMessages: batchSize, WaitTimeSeconds: 1,
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
	})
	w.must(err)
	var event events.SQSEvent
	for _, m := range out.Messages {
		event.Records = append(event.Records, events.SQSMessage{MessageId: *m.MessageId, Body: *m.Body, Attributes: m.Attributes})
	}
	answer := w.d.handle(ctx, event)
	for _, m := range out.Messages {
		if slices.Contains(answer.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: *m.MessageId}) {
			continue
		}
		_, err := client.DeleteMessage(ctx, &awssqs.DeleteMessageInput{QueueUrl: &url, ReceiptHandle: m.ReceiptHandle})
		w.must(err)
	}
}

// A database that is away costs each batch one try, and is said once.
func TestADatabaseThatIsAwayIsSaidOnce(t *testing.T) {
	t.Parallel()
	w := open(t, 2, ecstest.Options{})
	gone, err := store.Open(t.Context(), store.Config{URL: "postgres://nobody@127.0.0.1:1/none"})
	w.must(err)
	t.Cleanup(gone.Close)
	w.Company.DB = gone
	begun := time.Now()
	failed := w.handle(t.Context(), wake("6f1d2a8e-0f0b-5b6e-9a51-0d8f6f4f6a11"), wake("6f1d2a8e-0f0b-5b6e-9a51-0d8f6f4f6a12"), wake("6f1d2a8e-0f0b-5b6e-9a51-0d8f6f4f6a13"))
	if len(failed) != 3 {
		t.Errorf("failed %v, want all", failed)
	}
	if n := strings.Count(w.log.String(), `"DatabaseAway":1`); n != 1 || strings.Count(w.log.String(), "\n") != 1 {
		t.Errorf("said %d times: %s", n, w.log)
	}
	if took := time.Since(begun); took > 3*time.Second {
		t.Errorf("took %v", took)
	}
}
