package store

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"companyos/shared/store/internal/pgq"
)

// Answer is what a creation answered to the first request with a key.
type Answer struct {
	UserID  string // whose key it is
	Key     string
	Request string // hash of the request
	Status  int
	Body    string
	At      time.Time
}

// Answer returns what was answered to a caller's key, nil when the key is new.
func (db *DB) Answer(ctx context.Context, userID, key string) (*Answer, error) {
	row, err := db.single().IdempotentAnswer(ctx, pgq.IdempotentAnswerParams{UserID: userID, Key: key})
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, unavailable(err)
	}
	return &Answer{UserID: userID, Key: key, Request: row.Request, Status: int(row.Status), Body: row.Answer}, nil
}

// InsertAnswer keeps an answer, in the transaction of what was created. false: another request with the key was faster.
func (tx *Tx) InsertAnswer(ctx context.Context, a Answer) (bool, error) {
	n, err := tx.q.InsertIdempotentAnswer(ctx, pgq.InsertIdempotentAnswerParams{
		UserID: a.UserID, Key: a.Key, Request: a.Request, Status: int32(a.Status), Answer: a.Body, CreatedAt: a.At,
	})
	return n > 0, err
}

// DeleteAnswers forgets answers that were given before a moment, at most so many, and returns how many.
func (db *DB) DeleteAnswers(ctx context.Context, before time.Time, most int) (int64, error) {
	n, err := db.single().DeleteIdempotentAnswers(ctx, pgq.DeleteIdempotentAnswersParams{CreatedBefore: before, Most: int32(most)})
	return n, unavailable(err)
}
