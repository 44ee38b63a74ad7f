package notify

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"companyos/shared/app"
)

// The headers of a signed message. Signature holds the time and one v1 for each secret that is in use.
const (
	HeaderSignature = "Company-Signature" // t=<epoch seconds>,v1=<hex>[,v1=<hex>]
	HeaderDelivery  = "Company-Delivery"  // the message's id, the same for every try
)

// Webhook delivers to the https URL that a Product's metadata names as its destination. Its messages are signed with every
// secret in use: to change the secret, add the new one first, let receivers take it over, then remove the old one.
type Webhook struct {
	Secrets func(ctx context.Context) ([]string, error) // the newest first
	Guard   Guard
	Retry   Retry
	Now     func() time.Time
	client  *http.Client
}

// NewWebhook returns a channel.
func NewWebhook(w Webhook) *Webhook {
	w.client = w.Guard.Client()
	if w.Now == nil {
		w.Now = time.Now
	}
	return &w
}

// payload is the body of a message.
type payload struct {
	ID        string `json:"id"`
	Type      string `json:"type"`
	ProductID string `json:"product_id"`
	Title     string `json:"title"`
	Text      string `json:"text"` // Markdown
	At        int64  `json:"at"`   // epoch seconds
}

// Deliver implements app.Channel.
func (w *Webhook) Deliver(ctx context.Context, m app.Message) error {
	if err := w.Guard.Check(m.Destination); err != nil {
		return err
	}
	secrets, err := w.Secrets(ctx)
	if err != nil {
		return err
	}
	if len(secrets) == 0 {
		return errors.New("there is no secret to sign messages with")
	}
	body, err := json.Marshal(payload{ID: m.ID, Type: "summary", ProductID: m.ProductID, Title: m.Title, Text: m.Text, At: m.At.Unix()})
	if err != nil {
		return err
	}
	return send(ctx, w.client, w.Retry, func(ctx context.Context) (*http.Request, error) {
		req, err := post(ctx, m.Destination, body)
		if err == nil {
			req.Header.Set(HeaderDelivery, m.ID)
			req.Header.Set(HeaderSignature, Sign(secrets, body, w.Now()))
		}
		return req, err
	})
}

// Sign returns the signature of a body at a time, with each secret.
func Sign(secrets []string, body []byte, at time.Time) string {
	t := strconv.FormatInt(at.Unix(), 10)
	parts := []string{"t=" + t}
	for _, s := range secrets {
		parts = append(parts, "v1="+hex.EncodeToString(digest(s, t, body)))
	}
	return strings.Join(parts, ",")
}

func digest(secret, t string, body []byte) []byte {
	h := hmac.New(sha256.New, []byte(secret))
	h.Write([]byte(t + "."))
	h.Write(body)
	return h.Sum(nil)
}

// ErrSignature is a message that is not ours, not whole, or too old.
var ErrSignature = errors.New("the signature does not fit the message")

// Verify is for receivers: it says whether a message was signed with a secret, not longer ago or ahead than tolerance.
func Verify(secret, signature string, body []byte, now time.Time, tolerance time.Duration) error {
	var t string
	var given [][]byte
	for part := range strings.SplitSeq(signature, ",") {
		name, value, _ := strings.Cut(part, "=")
		switch name {
		case "t":
			t = value
		case "v1":
			if mac, err := hex.DecodeString(value); err == nil {
				given = append(given, mac)
			}
		}
	}
	seconds, err := strconv.ParseInt(t, 10, 64)
	if err != nil || now.Sub(time.Unix(seconds, 0)).Abs() > tolerance {
		return ErrSignature
	}
	want := digest(secret, t, body)
	for _, mac := range given {
		if hmac.Equal(mac, want) {
			return nil
		}
	}
	return ErrSignature
}
