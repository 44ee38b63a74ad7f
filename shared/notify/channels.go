package notify

import (
	"context"
	"fmt"
	"strings"

	"companyos/shared/app"
)

// The secrets of the channels.
const (
	SecretSlackURL = "SUMMARY_SLACK_URL"      // the URL of an incoming webhook
	SecretSigning  = "SUMMARY_WEBHOOK_SECRET" // signs what webhooks get; several, the newest first, separated by blanks
)

// Channels are the channels that need nothing but secrets, by the names that a Product's metadata.summary.interface uses.
// A secret is read when a message is delivered, so that a new one counts at once.
func Channels(secrets func(ctx context.Context, names []string) (map[string]string, error)) map[string]app.Channel {
	read := func(ctx context.Context, name string) (string, error) {
		values, err := secrets(ctx, []string{name})
		if err == nil && values[name] == "" {
			err = fmt.Errorf("the secret %s is empty", name)
		}
		return values[name], err
	}
	return map[string]app.Channel{
		"slack": NewSlack(Slack{URL: func(ctx context.Context) (string, error) { return read(ctx, SecretSlackURL) }}),
		"webhook": NewWebhook(Webhook{Secrets: func(ctx context.Context) ([]string, error) {
			all, err := read(ctx, SecretSigning)
			return strings.Fields(all), err
		}}),
	}
}
