// Package sns delivers messages to topics of Amazon SNS.
package sns

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sns/types"

	"companyos/shared/app"
)

// Publisher is what is used of SNS. Its client repeats what may pass.
type Publisher interface {
	Publish(ctx context.Context, in *sns.PublishInput, options ...func(*sns.Options)) (*sns.PublishOutput, error)
}

// Topics delivers to the operator's topics. A Product's destination is a topic's name here, so that nobody but the operator
// says which topics there are.
type Topics struct {
	Client Publisher
	ARNs   map[string]string // by name
}

// What SNS takes.
const (
	maxSubject = 99
	maxMessage = 256 << 10
)

// Deliver implements app.Channel.
func (t *Topics) Deliver(ctx context.Context, m app.Message) error {
	arn, ok := t.ARNs[m.Destination]
	if !ok {
		return fmt.Errorf("there is no topic %q", m.Destination)
	}
	in := &sns.PublishInput{
		TopicArn: &arn, Subject: aws.String(subject(m.Title)), Message: aws.String(cut(m.Text, maxMessage)),
		MessageAttributes: map[string]types.MessageAttributeValue{
			"delivery":   {DataType: aws.String("String"), StringValue: &m.ID},
			"product_id": {DataType: aws.String("String"), StringValue: &m.ProductID},
		},
	}
	if strings.HasSuffix(arn, ".fifo") {
		in.MessageGroupId, in.MessageDeduplicationId = &m.ProductID, &m.ID
	}
	if _, err := t.Client.Publish(ctx, in); err != nil {
		return fmt.Errorf("publish to the topic %s: %w", m.Destination, err)
	}
	return nil
}

// subject is what the subject of a mail may be: printable ASCII, one line, short.
func subject(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, s)
	return cut(strings.TrimSpace(s), maxSubject)
}

// cut shortens a text to at most n bytes, between characters.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
