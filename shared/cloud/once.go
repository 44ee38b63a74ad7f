package cloud

import (
	"context"
	"sync"
)

// Once returns what f returned when it first succeeded. After a failure the next call tries again. A function reads,
// connects and fetches nothing before its first event: what is slow or away then makes that event fail, not the start.
func Once[T any](f func(ctx context.Context) (T, error)) func(ctx context.Context) (T, error) {
	var mu sync.Mutex
	var value T
	done := false
	return func(ctx context.Context) (_ T, err error) {
		mu.Lock()
		defer mu.Unlock()
		if !done {
			if value, err = f(ctx); err != nil {
				return value, err
			}
			done = true
		}
		return value, nil
	}
}
