package sns_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	awssns "github.com/aws/aws-sdk-go-v2/service/sns"

	"companyos/shared/app"
	"companyos/shared/notify/sns"
)

type publisher struct {
	got []*awssns.PublishInput
	err error
}

func (p *publisher) Publish(_ context.Context, in *awssns.PublishInput, _ ...func(*awssns.Options)) (*awssns.PublishOutput, error) {
	p.got = append(p.got, in)
	return &awssns.PublishOutput{}, p.err
}

func TestTopics(t *testing.T) {
	t.Parallel()
	p := &publisher{}
	topics := &sns.Topics{Client: p, ARNs: map[string]string{"team": "arn:aws:sns:eu-west-1:123456789012:team", "ordered": "arn:aws:sns:eu-west-1:123456789012:team.fifo"}}
	m := app.Message{ID: "run-1", Destination: "team", ProductID: "p", Title: "Wïdget:\nsummary " + strings.Repeat("x", 200), Text: strings.Repeat("é", 200<<10)}
	if err := topics.Deliver(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	in := p.got[0]
	if *in.TopicArn != topics.ARNs["team"] || len(*in.Subject) != 99 || !strings.HasPrefix(*in.Subject, "W?dget:?summary x") || len(*in.Message) != 256<<10 || in.MessageGroupId != nil {
		t.Errorf("%s %q, %d bytes", *in.TopicArn, *in.Subject, len(*in.Message))
	}
	if *in.MessageAttributes["delivery"].StringValue != "run-1" {
		t.Error("the message has no id")
	}
	m.Destination = "ordered"
	if err := topics.Deliver(t.Context(), m); err != nil || *p.got[1].MessageDeduplicationId != "run-1" || *p.got[1].MessageGroupId != "p" {
		t.Errorf("%v %+v", err, p.got[1])
	}
	m.Destination = "arn:aws:sns:eu-west-1:999999999999:theirs"
	if err := topics.Deliver(t.Context(), m); err == nil || len(p.got) != 2 {
		t.Error("a topic that is not the operator's was used")
	}
	m.Destination, p.err = "team", errors.New("throttled")
	if err := topics.Deliver(t.Context(), m); !errors.Is(err, p.err) {
		t.Error(err)
	}
}
