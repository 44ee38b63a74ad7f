package notify_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"companyos/shared/notify"
)

// TestChannelsReadTheirSecrets: each channel asks for its own, and says when it is not there.
func TestChannelsReadTheirSecrets(t *testing.T) {
	t.Parallel()
	var asked []string
	away := errors.New("the secret does not exist")
	channels := notify.Channels(func(_ context.Context, names []string) (map[string]string, error) {
		asked = append(asked, names...)
		if names[0] == notify.SecretSigning {
			return nil, away
		}
		return map[string]string{names[0]: "http://slack.example"}, nil
	})
	if len(channels) != 2 {
		t.Fatalf("%d channels", len(channels))
	}
	if err := channels["webhook"].Deliver(t.Context(), message("https://hooks.example/x")); !errors.Is(err, away) {
		t.Errorf("webhook: %v", err)
	}
	if err := channels["slack"].Deliver(t.Context(), message("#team")); !errors.Is(err, notify.ErrAddress) {
		t.Errorf("slack: %v", err)
	}
	if got := strings.Join(asked, " "); got != "SUMMARY_WEBHOOK_SECRET SUMMARY_SLACK_URL" {
		t.Errorf("asked for %s", got)
	}
	empty := notify.Channels(func(context.Context, []string) (map[string]string, error) { return nil, nil })
	if err := empty["slack"].Deliver(t.Context(), message("#team")); err == nil || !strings.Contains(err.Error(), "SUMMARY_SLACK_URL is empty") {
		t.Errorf("empty: %v", err)
	}
}
