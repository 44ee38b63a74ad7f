package app

import (
	"context"
	"time"
)

// No batch is to hold rows for longer than 100 ms, on whatever database. The size of the next one follows how long the last
// one took.
const (
	batchSlow  = 25 * time.Millisecond // the next is half as large
	batchQuick = 8 * time.Millisecond  // the next is twice as large
	batchLeast = 10
)

// pace is the size of the next batch. The first is small: nobody knows yet how quick the database is.
type pace struct{ size, most int }

func newPace(most int) *pace { return &pace{min(100, most), most} }

func (p *pace) took(d time.Duration) {
	switch {
	case d > batchSlow:
		p.size = max(p.size/2, min(batchLeast, p.most))
	case d < batchQuick:
		p.size = min(p.size*2, p.most)
	}
}

// inBatches repeats a batch of at most so many until it took nothing, and returns how many all took.
func inBatches(ctx context.Context, most int, batch func(most int) (int64, error)) (total int64, err error) {
	p := newPace(most)
	for {
		began := time.Now()
		n, err := batch(p.size)
		total += n
		if err != nil || n == 0 {
			return total, err
		}
		if ctx.Err() != nil {
			return total, ctx.Err()
		}
		p.took(time.Since(began))
	}
}
