package notify

import (
	"context"
	"encoding/json"
	"net/http"

	"companyos/shared/app"
)

// Slack delivers to an incoming webhook as Slack, Mattermost, Discord (with /slack) and others have it. The URL is the
// operator's secret, so a Product's destination is only the channel's name; what the webhook does with it is its own rule.
type Slack struct {
	URL    func(ctx context.Context) (string, error)
	Guard  Guard
	Retry  Retry
	client *http.Client
}

// maxText is what such a webhook takes, in characters.
const maxText = 38000

// NewSlack returns a channel.
func NewSlack(s Slack) *Slack {
	s.client = s.Guard.Client()
	return &s
}

// Deliver implements app.Channel.
func (s *Slack) Deliver(ctx context.Context, m app.Message) error {
	url, err := s.URL(ctx)
	if err != nil {
		return err
	}
	if err := s.Guard.Check(url); err != nil {
		return err
	}
	body, err := json.Marshal(map[string]string{"channel": m.Destination, "text": cut("*"+m.Title+"*\n\n"+m.Text, maxText)})
	if err != nil {
		return err
	}
	return send(ctx, s.client, s.Retry, func(ctx context.Context) (*http.Request, error) { return post(ctx, url, body) })
}

// cut shortens a text to at most n characters.
func cut(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}
