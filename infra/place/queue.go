package place

import (
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambdaeventsources"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

const (
	// visibilityFactor is what Lambda asks between a queue's visibility timeout and its function's timeout: below it a
	// throttled batch comes back while it is still being worked on.
	visibilityFactor = 6
	// maxReceives before a message is a dead letter. At least five, since throttled batches count as received.
	maxReceives = 10
	// A dead letter keeps its first day of sending, so the dead letters are kept longer than the living.
	liveDays, deadDays = 4, 14
)

// Queue is a standard queue of wake-ups with its dead letters.
type Queue struct {
	awssqs.Queue
	Dead awssqs.Queue
}

// NewQueue makes a queue for a consumer with this timeout.
func NewQueue(scope constructs.Construct, id string, timeout time.Duration) *Queue {
	dead := awssqs.NewQueue(scope, jsii.String(id+"-dead"), &awssqs.QueueProps{
		RetentionPeriod: awscdk.Duration_Days(jsii.Number(deadDays)),
		Encryption:      awssqs.QueueEncryption_SQS_MANAGED,
		EnforceSSL:      jsii.Bool(true),
		RemovalPolicy:   awscdk.RemovalPolicy_DESTROY,
	})
	live := awssqs.NewQueue(scope, jsii.String(id), &awssqs.QueueProps{
		RetentionPeriod:   awscdk.Duration_Days(jsii.Number(liveDays)),
		VisibilityTimeout: awscdk.Duration_Seconds(jsii.Number(visibilityFactor * timeout.Seconds())),
		Encryption:        awssqs.QueueEncryption_SQS_MANAGED,
		EnforceSSL:        jsii.Bool(true),
		RemovalPolicy:     awscdk.RemovalPolicy_DESTROY,
		DeadLetterQueue:   &awssqs.DeadLetterQueue{Queue: dead, MaxReceiveCount: jsii.Number(maxReceives)},
	})
	return &Queue{Queue: live, Dead: dead}
}

// Feeds hands the queue's messages to a function: so many a batch, so many batches at once. One failed message returns
// alone.
func (q *Queue) Feeds(fn awslambda.Function, batch, atOnce float64) {
	fn.AddEventSource(awslambdaeventsources.NewSqsEventSource(q.Queue, &awslambdaeventsources.SqsEventSourceProps{
		BatchSize:               jsii.Number(batch),
		MaxConcurrency:          jsii.Number(atOnce),
		ReportBatchItemFailures: jsii.Bool(true),
	}))
}
