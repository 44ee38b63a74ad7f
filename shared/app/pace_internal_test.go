package app

import (
	"context"
	"testing"
	"time"
)

// TestPace: a batch is smaller after one that was slow, larger after one that was quick, and within its bounds.
func TestPace(t *testing.T) {
	t.Parallel()
	p := newPace(250)
	for _, step := range []struct {
		took time.Duration
		want int
	}{
		{time.Millisecond, 200},
		{time.Millisecond, 250},
		{(batchSlow + batchQuick) / 2, 250},
		{time.Second, 125},
		{time.Second, 62},
		{time.Second, 31},
		{time.Second, 15},
		{time.Second, batchLeast},
		{time.Second, batchLeast},
		{0, 2 * batchLeast},
	} {
		if p.took(step.took); p.size != step.want {
			t.Errorf("after %s: %d, want %d", step.took, p.size, step.want)
		}
	}
	left := int64(1000)
	total, err := inBatches(context.Background(), 250, func(most int) (int64, error) {
		n := min(left, int64(most))
		left -= n
		return n, nil
	})
	if err != nil || total != 1000 || left != 0 {
		t.Errorf("%d of 1000, %d left, %v", total, left, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := inBatches(ctx, 10, func(int) (int64, error) { return 1, nil }); err == nil {
		t.Error("a process that is to end went on")
	}
}
