package store

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"companyos/shared/store/internal/pgq"
)

// Event is one thing that happened in a run. Body holds the fields of its type, as a JSON object.
type Event struct {
	Seq  int64
	At   time.Time
	Type string
	Body json.RawMessage
}

// AddEvents appends events to a run; their Seq is given here, gap-free and in order. Writing them locks the run's row.
func (tx *Tx) AddEvents(ctx context.Context, runID string, events []Event) error {
	if len(events) == 0 {
		return nil
	}
	last, err := tx.q.TakeEventSeqs(ctx, pgq.TakeEventSeqsParams{N: int64(len(events)), RunID: runID})
	if err != nil {
		return notFound(err, "Company run")
	}
	rows := make([]pgq.InsertEventParams, len(events))
	for i, e := range events {
		body := e.Body
		if body == nil {
			body = json.RawMessage("{}")
		}
		rows[i] = pgq.InsertEventParams{RunID: runID, Seq: last - int64(len(events)-1-i), At: e.At, Type: e.Type, Body: body}
	}
	results := tx.q.InsertEvent(ctx, rows)
	results.Exec(func(_ int, e error) { err = errors.Join(err, e) })
	return err
}

// EventsAfter returns the events of a run with a higher sequence number, oldest first.
func (db *DB) EventsAfter(ctx context.Context, runID string, after int64, most int) ([]Event, error) {
	rows, err := db.single().EventsAfter(ctx, pgq.EventsAfterParams{RunID: runID, After: after, Most: int32(most)})
	if err != nil {
		return nil, unavailable(err)
	}
	return convert(rows, func(r pgq.RunEvent) (Event, error) {
		return Event{Seq: r.Seq, At: r.At, Type: r.Type, Body: r.Body}, nil
	})
}
