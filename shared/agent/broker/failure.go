package broker

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"companyos/shared/task"
)

// Failure is the provider's last refusal, if no answer came after it.
type Failure struct {
	Kind    task.EndKind
	Text    string    // for people
	ResetAt time.Time // when the provider wants to be asked again; zero where it did not say
}

// Failure returns it, nil for none.
func (b *Broker) Failure() *Failure {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.failure
}

func (b *Broker) failed(f *Failure) {
	b.mu.Lock()
	b.failure = f
	b.mu.Unlock()
	if b.Failed != nil {
		b.Failed(*f)
	}
}

// providerError is the error object of both providers.
type providerError struct {
	Type    string `json:"type"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

// errorMost bounds what is read of a refusal; a longer one is passed on and not understood.
const errorMost = 64 << 10

// failureOf reads a refusal and leaves the answer whole.
func failureOf(res *http.Response, now time.Time) *Failure {
	head, _ := io.ReadAll(io.LimitReader(res.Body, errorMost))
	res.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(head), res.Body), res.Body}
	var answer struct {
		Error providerError `json:"error"`
	}
	_ = json.Unmarshal(head, &answer) // a gateway's page is no JSON
	e := answer.Error
	f := &Failure{Kind: e.kind(res.StatusCode), ResetAt: resetAt(res.Header, now)}
	f.Text = fmt.Sprintf("The model's provider answered %d", res.StatusCode)
	if e.Message != "" {
		f.Text += ": " + shorten(e.Message)
	}
	if !f.ResetAt.IsZero() {
		f.Text += " It can be asked again at " + f.ResetAt.UTC().Format(time.RFC3339) + "."
	}
	return f
}

func shorten(s string) string {
	const most = 500
	s = strings.ToValidUTF8(strings.Join(strings.Fields(s), " "), "")
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	if !strings.HasSuffix(s, ".") {
		s += "."
	}
	return s
}

// failure is an error within a stream.
func (e *providerError) failure() *Failure {
	text := "The model's provider broke off"
	if e.Message != "" {
		text += ": " + shorten(e.Message)
	}
	return &Failure{Kind: e.kind(0), Text: text}
}

// kind sorts a refusal by its status and, where that says little, by the provider's words.
func (e *providerError) kind(status int) task.EndKind {
	word, message := e.Code, strings.ToLower(e.Message)
	if word == "" {
		word = e.Type
	}
	switch word {
	case "insufficient_quota", "usage_limit_reached", "rate_limit_exceeded", "rate_limit_error", "billing_error":
		return task.EndUsageLimit
	case "context_length_exceeded":
		return task.EndContextExceeded
	case "overloaded_error", "server_is_overloaded", "api_error", "server_error", "timeout_error":
		return task.EndModelUnavailable
	case "authentication_error", "permission_error", "invalid_api_key":
		return task.EndModelUnauthorized
	}
	switch {
	case strings.Contains(message, "credit balance"):
		return task.EndUsageLimit
	case strings.Contains(message, "prompt is too long"), strings.Contains(message, "context window"), strings.Contains(message, "context length"):
		return task.EndContextExceeded
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return task.EndModelUnauthorized
	case status == http.StatusTooManyRequests, status == http.StatusPaymentRequired:
		return task.EndUsageLimit
	case status >= 500, status == http.StatusRequestTimeout:
		return task.EndModelUnavailable
	default:
		return task.EndModelRejected
	}
}

// resetAt reads when the provider can be asked again.
func resetAt(h http.Header, now time.Time) time.Time {
	if text := h.Get("Anthropic-Ratelimit-Unified-Reset"); text != "" {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return time.Unix(n, 0)
		}
	}
	if text := h.Get("Retry-After"); text != "" {
		if n, err := strconv.ParseFloat(text, 64); err == nil && n >= 0 && n < 1e8 {
			return now.Add(time.Duration(n * float64(time.Second)))
		}
		if at, err := http.ParseTime(text); err == nil {
			return at
		}
	}
	var latest time.Time
	for _, name := range []string{"Anthropic-Ratelimit-Requests-Reset", "Anthropic-Ratelimit-Tokens-Reset"} {
		if at, err := time.Parse(time.RFC3339, h.Get(name)); err == nil && at.After(latest) {
			latest = at
		}
	}
	for _, name := range []string{"X-Ratelimit-Reset-Requests", "X-Ratelimit-Reset-Tokens"} {
		if d, err := time.ParseDuration(h.Get(name)); err == nil && now.Add(d).After(latest) {
			latest = now.Add(d)
		}
	}
	return latest
}
