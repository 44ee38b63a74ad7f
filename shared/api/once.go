package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"companyos/shared/app"
	"companyos/shared/wire"
)

// The header that makes a creation happen once, and the one that says that an answer is an earlier one's.
const (
	headerKey      = "Idempotency-Key"
	headerReplayed = "Idempotency-Replayed"
	maxKey         = 255
)

// creates binds a route that makes a record: do makes it, show is how it is answered. With an Idempotency-Key a repeat of
// the same request by the same caller gets the first one's answer; without one there is nothing to look up.
func creates[T, R, A any](s *server, do func(ctx context.Context, r *request, in T) (R, error), show func(R) A) handler {
	plain := func(ctx context.Context, w http.ResponseWriter, r *request) (any, error) {
		return with(func(ctx context.Context, r *request, in T) (any, error) {
			record, err := do(ctx, r, in)
			if err != nil {
				return nil, err
			}
			if status := statusFor(r, record); status != r.route.Status {
				s.writeJSON(w, r.Request, status, show(record))
				return written{}, nil
			}
			return show(record), nil
		})(ctx, w, r)
	}
	return func(ctx context.Context, w http.ResponseWriter, r *request) (any, error) {
		key, err := idempotencyKey(r)
		if err != nil {
			return nil, err
		}
		if key == "" {
			return plain(ctx, w, r)
		}
		once := &app.Once{Key: key, Request: requestHash(r), Answer: func(record any) (int, []byte, error) {
			body, err := wire.Marshal(show(record.(R)))
			return statusFor(r, record), body, err
		}}
		answer, err := any(nil), s.Company.Replay(ctx, r.caller, key, once.Request)
		if err == nil {
			answer, err = plain(app.WithOnce(ctx, once), w, r)
		}
		if replayed, ok := errors.AsType[*app.ReplayedError](err); ok {
			w.Header().Set(headerReplayed, "true")
			write(w, r.Request, replayed.Status, "application/json", replayed.Body)
			return written{}, nil
		}
		return answer, err
	}
}

// statusFor is the status of a success: a setup that was made before creates nothing.
func statusFor(r *request, record any) int {
	if s, ok := record.(app.SetUp); ok && !s.Created {
		return http.StatusOK
	}
	return r.route.Status
}

// idempotencyKey is the request's key, empty when it has none.
func idempotencyKey(r *request) (string, error) {
	keys := r.Header.Values(headerKey)
	if len(keys) == 0 {
		return "", nil
	}
	key := keys[0]
	outside := func(c rune) bool { return c < '!' || c > '~' }
	if len(keys) > 1 || key == "" || len(key) > maxKey || strings.ContainsFunc(key, outside) {
		return "", &invalid{fields: []wire.FieldError{{
			Type: "value_error", Loc: []any{"header", headerKey}, Ctx: map[string]any{"error": struct{}{}},
			Msg: fmt.Sprintf("Value error, the key must be given once and have 1 to %d visible ASCII characters", maxKey),
		}}}
	}
	return key, nil
}

// requestHash tells one request from another: the route and the body as it was sent.
func requestHash(r *request) string {
	sum := sha256.Sum256(append([]byte(r.route.Name+"\n"), r.body...))
	return hex.EncodeToString(sum[:])
}
