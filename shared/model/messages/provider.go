// Package messages asks a model by Anthropic's Messages API, through the official client, until the model has an answer or
// something ends it. What it costs is counted by what the provider says.
package messages

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"companyos/shared/model"
	"companyos/shared/task"
)

// KeyName is the secret with the key of Anthropic's API.
const KeyName = "ANTHROPIC_API_KEY"

// Provider says where models are asked. The zero value is Anthropic's own API.
type Provider struct {
	BaseURL string                 // of another server with the same API: https, or http to loopback; empty: Anthropic's
	Options []option.RequestOption // of a cloud that signs requests itself, such as Bedrock: then there is no key and no BaseURL
	Retries int                    // of a request that may succeed a moment later; 0: 2, below 0: none
	Silence time.Duration          // after which an answer that does not go on is given up; 0: 2 minutes
}

const (
	defaultURL     = "https://api.anthropic.com"
	defaultRetries = 2
	defaultSilence = 2 * time.Minute // the provider sends a sign of life every few seconds
)

// Check refuses a base URL to which no key may be sent.
func (p *Provider) Check() error {
	if p.BaseURL == "" {
		return nil
	}
	u, err := url.Parse(p.BaseURL)
	if err != nil || u.Host == "" {
		return fmt.Errorf("the model's address %q is no URL", p.BaseURL)
	}
	if ip, err := netip.ParseAddr(u.Hostname()); u.Scheme != "https" && (u.Scheme != "http" || err != nil || !ip.IsLoopback()) {
		return fmt.Errorf("the model's address %q is neither https nor on loopback", p.BaseURL)
	}
	return nil
}

// client prepares a client for one run. Nothing of it comes from the process's environment.
func (p *Provider) client(ctx context.Context, secrets model.Secrets) (anthropic.MessageService, *model.EndError) {
	retries := p.Retries
	switch {
	case retries == 0:
		retries = defaultRetries
	case retries < 0:
		retries = 0
	}
	options := []option.RequestOption{option.WithMaxRetries(retries), option.WithHTTPClient(&http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // a key is for one host
	})}
	if len(p.Options) > 0 {
		return anthropic.NewMessageService(append(options, p.Options...)...), nil
	}
	if err := p.Check(); err != nil {
		return anthropic.MessageService{}, &model.EndError{Kind: task.EndModelUnavailable, Text: err.Error()}
	}
	if secrets == nil {
		return anthropic.MessageService{}, &model.EndError{Kind: task.EndModelUnauthorized, Text: "This deployment has no secrets, so there is no key for the model."}
	}
	values, err := secrets(ctx, []string{KeyName})
	key := values[KeyName]
	if err != nil || key == "" {
		return anthropic.MessageService{}, &model.EndError{Kind: task.EndModelUnauthorized, Text: "The key for the model could not be read: " + reason(err), Cause: err}
	}
	base := p.BaseURL
	if base == "" {
		base = defaultURL
	}
	return anthropic.NewMessageService(append(options, option.WithBaseURL(base), option.WithAPIKey(key))...), nil
}

func reason(err error) string {
	if err == nil {
		return "the secret " + KeyName + " is empty."
	}
	return err.Error() + "."
}
