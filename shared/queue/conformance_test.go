package queue_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"companyos/shared/queue"
	"companyos/shared/queue/queuetest"
)

func TestLocalConformance(t *testing.T) {
	t.Parallel()
	queuetest.Run(t, func(*testing.T) queuetest.Bench {
		cfg := queue.LocalConfig{
			Concurrency: 4, Visibility: 500 * time.Millisecond, MaxReceive: 3,
			RetryDelay: 10 * time.Millisecond, MaxRetryDelay: 20 * time.Millisecond,
		}
		l := queue.NewLocal(cfg)
		return queuetest.Bench{
			Queue: l,
			Run:   l.Run,
			Dead: func(*testing.T) []uuid.UUID {
				var ids []uuid.UUID
				for _, d := range l.Dead() {
					ids = append(ids, d.RunID)
				}
				return ids
			},
			Unit:       200 * time.Millisecond,
			MaxReceive: cfg.MaxReceive, Concurrency: cfg.Concurrency, Visibility: cfg.Visibility,
		}
	})
}
