package notify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"
)

// Retry says how often and how fast a delivery is repeated. Zero fields have the default.
type Retry struct {
	Tries   int           // 4
	Pause   time.Duration // before the second try, 500 ms; it doubles
	Longest time.Duration // that a server may ask to wait, 10 s
}

func (r Retry) orDefault() Retry {
	if r.Tries == 0 {
		r.Tries = 4
	}
	if r.Pause == 0 {
		r.Pause = 500 * time.Millisecond
	}
	if r.Longest == 0 {
		r.Longest = 10 * time.Second
	}
	return r
}

// maxAnswer is how much of an answer is read, so that its connection can be used again.
const maxAnswer = 4 << 10

// request makes the request of one try; each has a fresh signature.
type request func(ctx context.Context) (*http.Request, error)

// send posts until it is taken. What a repeat cannot help is not repeated: an address that is not allowed, and a refusal.
func send(ctx context.Context, client *http.Client, r Retry, make request) error {
	r = r.orDefault()
	pause := r.Pause
	var err error
	for try := 1; ; try++ {
		var wait time.Duration
		var again bool
		if wait, again, err = once(ctx, client, make); err == nil || !again || try == r.Tries {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		case <-time.After(max(min(wait, r.Longest), pause/2+rand.N(pause))):
			pause *= 2
		}
	}
}

// once makes one try. again says that another may succeed, not before wait where the server said so.
func once(ctx context.Context, client *http.Client, make request) (wait time.Duration, again bool, err error) {
	req, err := make(ctx)
	if err != nil {
		return 0, false, err
	}
	res, err := client.Do(req)
	if err != nil {
		return 0, !errors.Is(err, ErrAddress) && ctx.Err() == nil, err
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, maxAnswer))
	switch {
	case res.StatusCode >= 200 && res.StatusCode < 300:
		return 0, false, nil
	case res.StatusCode == http.StatusTooManyRequests, res.StatusCode >= http.StatusInternalServerError:
		seconds, _ := strconv.Atoi(res.Header.Get("Retry-After"))
		return time.Duration(seconds) * time.Second, true, fmt.Errorf("the webhook answers %s", res.Status)
	}
	return 0, false, fmt.Errorf("the webhook answers %s", res.Status)
}

func post(ctx context.Context, url string, body []byte) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "company-notify/1")
	return req, nil
}
