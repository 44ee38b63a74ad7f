// Package provider knows how the providers of models answer when they do not answer: what kind of end a refusal is, and
// when they can be asked again; and what their answers cost.
package provider

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

// Failure is a provider's refusal.
type Failure struct {
	Kind    task.EndKind
	Text    string    // for people
	ResetAt time.Time // when the provider wants to be asked again; zero where it did not say
}

// Error is the error object of Anthropic and of OpenAI.
type Error struct {
	Type    string `json:"type"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

// errorMost bounds what is read of a refusal; a longer one is passed on and not understood.
const errorMost = 64 << 10

// Refusal reads a refusal and leaves the answer whole.
func Refusal(res *http.Response, now time.Time) *Failure {
	head, _ := io.ReadAll(io.LimitReader(res.Body, errorMost))
	res.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(head), res.Body), res.Body}
	var answer struct {
		Error Error `json:"error"`
	}
	_ = json.Unmarshal(head, &answer) // a gateway's page is no JSON
	return answer.Error.Refusal(res.StatusCode, res.Header, now)
}

// Refusal is the failure that an answer with this status and error is.
func (e *Error) Refusal(status int, header http.Header, now time.Time) *Failure {
	f := &Failure{Kind: e.kind(status), ResetAt: resetAt(header, now)}
	f.Text = fmt.Sprintf("The model's provider answered %d", status)
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

// Failure is what an error within a stream is.
func (e *Error) Failure() *Failure {
	text := "The model's provider broke off"
	if e.Message != "" {
		text += ": " + shorten(e.Message)
	}
	return &Failure{Kind: e.kind(0), Text: text}
}

// kind sorts a refusal by its status and, where that says little, by the provider's words.
func (e *Error) kind(status int) task.EndKind {
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
	case strings.Contains(message, "prompt is too long"), strings.Contains(message, "input is too long"), strings.Contains(message, "context window"), strings.Contains(message, "context length"):
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
