package sqs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/uuid"

	"companyos/shared/queue"
	"companyos/shared/queue/sqs"
)

// batch is an event with one record a body, message ids m0, m1, …
func batch(bodies ...string) events.SQSEvent {
	var event events.SQSEvent
	for i, body := range bodies {
		event.Records = append(event.Records, events.SQSMessage{
			MessageId: fmt.Sprintf("m%d", i), Body: body, Attributes: map[string]string{"ApproximateReceiveCount": "1"},
		})
	}
	return event
}

func body(id uuid.UUID) string { return fmt.Sprintf(`{"v":1,"run":"%s"}`, id) }

func failed(r events.SQSEventResponse) []string {
	ids := []string{}
	for _, f := range r.BatchItemFailures {
		ids = append(ids, f.ItemIdentifier)
	}
	return ids
}

func TestBatchAnswersAnEmptyListNotNull(t *testing.T) {
	t.Parallel()
	for name, event := range map[string]events.SQSEvent{"no records": {}, "all well": batch(body(uuid.New()), body(uuid.New()))} {
		answer, err := json.Marshal(sqs.Batch(t.Context(), event, func(context.Context, uuid.UUID) error { return nil }))
		if err != nil || string(answer) != `{"batchItemFailures":[]}` {
			t.Errorf("%s: %s, %v", name, answer, err)
		}
	}
}

func TestBatchNamesExactlyWhatFailed(t *testing.T) {
	t.Parallel()
	var handled []uuid.UUID
	ids := make([]uuid.UUID, 10)
	bodies := make([]string, 10)
	for i := range ids {
		ids[i] = uuid.New()
		bodies[i] = body(ids[i])
	}
	bodies[2], bodies[5] = `{"v":9}`, `{`
	answer := sqs.Batch(t.Context(), batch(bodies...), func(_ context.Context, id uuid.UUID) error {
		handled = append(handled, id)
		switch id {
		case ids[0]:
			panic("broken")
		case ids[7]:
			return errors.New("later")
		}
		return nil
	})
	if got, want := failed(answer), []string{"m0", "m2", "m5", "m7"}; !slices.Equal(got, want) {
		t.Errorf("failures %v, want %v", got, want)
	}
	if want := slices.Concat(ids[:2], ids[3:5], ids[6:]); !slices.Equal(handled, want) {
		t.Errorf("handled %v, want %v", handled, want)
	}
}

// The third handler hangs. The batch ends a second before Lambda would kill it: the first two are done, the third and
// what was not begun come back.
func TestBatchEndsBeforeItsFunctionIsKilled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		start, n := time.Now(), 0
		answer := sqs.Batch(ctx, batch(body(uuid.New()), body(uuid.New()), body(uuid.New()), body(uuid.New())),
			func(ctx context.Context, _ uuid.UUID) error {
				if n++; n < 3 {
					return nil
				}
				<-ctx.Done()
				return ctx.Err()
			})
		if got, want := failed(answer), []string{"m2", "m3"}; !slices.Equal(got, want) || n != 3 {
			t.Errorf("failures %v, want %v; %d begun", got, want, n)
		}
		if took := time.Since(start); took != 29*time.Second {
			t.Errorf("took %v, want 29s of 30", took)
		}
	})
}

func TestBatchHandsBackTheRestWhileTheDatabaseIsAway(t *testing.T) {
	t.Parallel()
	n := 0
	answer := sqs.Batch(t.Context(), batch(body(uuid.New()), body(uuid.New()), `{`, body(uuid.New())), func(context.Context, uuid.UUID) error {
		if n++; n == 2 {
			return fmt.Errorf("%w: no route to host", queue.ErrAway)
		}
		return nil
	})
	if got, want := failed(answer), []string{"m1", "m2", "m3"}; !slices.Equal(got, want) || n != 2 {
		t.Errorf("failures %v, want %v; %d tried", got, want, n)
	}
}
