package sqs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/uuid"
)

// faulty is an SQS endpoint that answers its first requests with faults and then as SQS.
type faulty struct {
	faults   []func(http.ResponseWriter)
	answer   string
	requests atomic.Int64
	lastBody atomic.Value
}

func (f *faulty) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	f.lastBody.Store(string(body))
	n := int(f.requests.Add(1))
	if n <= len(f.faults) {
		f.faults[n-1](w)
		return
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	fmt.Fprint(w, f.answer)
}

// refusal answers as SQS does: the JSON protocol's type, and the query protocol's code in a header.
func refusal(status int, typ, queryCode string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		w.Header().Set("X-Amzn-Query-Error", queryCode+";Sender")
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"__type":%q,"message":"no"}`, typ)
	}
}

func reset(w http.ResponseWriter) {
	if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
		conn.Close()
	}
}

func clientOf(t *testing.T, h http.Handler) *sqs.Client {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return sqs.New(sqs.Options{
		Region: "eu-central-1", BaseEndpoint: &server.URL,
		Credentials: credentials.NewStaticCredentialsProvider("key", "secret", ""),
	})
}

func TestSendRetriesWhatPasses(t *testing.T) {
	t.Parallel()
	f := &faulty{answer: `{"MessageId":"1"}`, faults: []func(http.ResponseWriter){
		refusal(400, "com.amazonaws.sqs#RequestThrottled", "AWS.SimpleQueueService.RequestThrottled"),
		refusal(400, "AWS.SimpleQueueService.ThrottlingException", "AWS.SimpleQueueService.ThrottlingException"),
		refusal(503, "com.amazonaws.sqs#ServiceUnavailable", "ServiceUnavailable"),
		reset,
	}}
	q := New(clientOf(t, f), "http://sqs/1/q")
	q.retryer = newRetryer(retry.BackoffDelayerFunc(func(int, error) (time.Duration, error) { return time.Millisecond, nil }))
	id := uuid.New()
	if err := q.Send(t.Context(), id, 1500*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if n := f.requests.Load(); n != maxAttempts {
		t.Errorf("%d requests, want %d", n, maxAttempts)
	}
	sent := f.lastBody.Load().(string)
	if !strings.Contains(sent, `"DelaySeconds":2`) || !strings.Contains(sent, id.String()) {
		t.Errorf("sent %s, want the run %s and 1.5 s rounded up", sent, id)
	}
}

func TestSendGivesUpAfterItsAttempts(t *testing.T) {
	t.Parallel()
	throttle := refusal(400, "com.amazonaws.sqs#RequestThrottled", "AWS.SimpleQueueService.RequestThrottled")
	f := &faulty{faults: []func(http.ResponseWriter){throttle, throttle, throttle, throttle, throttle, throttle}}
	q := New(clientOf(t, f), "http://sqs/1/q")
	q.retryer = newRetryer(retry.BackoffDelayerFunc(func(int, error) (time.Duration, error) { return time.Millisecond, nil }))
	if err := q.Send(t.Context(), uuid.New(), 0); err == nil || f.requests.Load() != maxAttempts {
		t.Errorf("%v after %d requests, want an error after %d", err, f.requests.Load(), maxAttempts)
	}
}

func TestSendDoesNotRepeatARefusal(t *testing.T) {
	t.Parallel()
	gone := refusal(400, "com.amazonaws.sqs#QueueDoesNotExist", "AWS.SimpleQueueService.NonExistentQueue")
	f := &faulty{faults: []func(http.ResponseWriter){gone, gone}}
	err := New(clientOf(t, f), "http://sqs/1/q").Send(t.Context(), uuid.New(), 0)
	if err == nil || f.requests.Load() != 1 {
		t.Errorf("%v after %d requests, want an error after one", err, f.requests.Load())
	}
}

// The real backoff, jitter included, stays within its bound and under a cancelled context ends at once.
func TestSendStopsWithItsContext(t *testing.T) {
	t.Parallel()
	r := newRetryer(nil)
	for attempt := 1; attempt <= maxAttempts; attempt++ {
		if d, err := r.RetryDelay(attempt, errors.New("x")); err != nil || d > maxBackoff {
			t.Errorf("attempt %d: wait %v, %v", attempt, d, err)
		}
	}
	throttle := refusal(400, "com.amazonaws.sqs#RequestThrottled", "AWS.SimpleQueueService.RequestThrottled")
	f := &faulty{faults: []func(http.ResponseWriter){throttle, throttle, throttle, throttle, throttle}}
	q := New(clientOf(t, f), "http://sqs/1/q")
	q.retryer = newRetryer(retry.BackoffDelayerFunc(func(int, error) (time.Duration, error) { return time.Hour, nil }))
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := q.Send(ctx, uuid.New(), 0); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Send: %v, want the context's end", err)
	}
}

// A queue that cannot be reached for a while is polled again.
func TestPollerOutlivesAFailureToReceive(t *testing.T) {
	t.Parallel()
	gone := refusal(400, "com.amazonaws.sqs#QueueDoesNotExist", "AWS.SimpleQueueService.NonExistentQueue")
	id := uuid.New()
	f := &faulty{
		faults: []func(http.ResponseWriter){gone},
		answer: fmt.Sprintf(`{"Messages":[{"MessageId":"1","ReceiptHandle":"r","Body":"{\"v\":1,\"run\":\"%s\"}"}]}`, id),
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	handled := make(chan uuid.UUID, 1000)
	done := make(chan error, 1)
	go func() {
		done <- NewPoller(clientOf(t, f), "http://sqs/1/q", PollerConfig{Concurrency: 1}).Run(ctx, func(_ context.Context, id uuid.UUID) error {
			handled <- id
			cancel()
			return nil
		})
	}()
	if got := <-handled; got != id {
		t.Errorf("handled %s, want %s", got, id)
	}
	if err := <-done; err != nil {
		t.Errorf("Run: %v", err)
	}
}
