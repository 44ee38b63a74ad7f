package store

import (
	"context"
	"time"

	"companyos/shared/store/internal/pgq"
)

// TakenSlots returns the numbers of the slots that are taken, in order.
func (tx *Tx) TakenSlots(ctx context.Context) ([]int, error) {
	rows, err := tx.q.TakenSlots(ctx)
	return ints(rows), err
}

// TakeSlot gives a slot to a run. A lost race violates a unique constraint, and Transact repeats the closure.
func (tx *Tx) TakeSlot(ctx context.Context, slot int, runID string, at time.Time) error {
	return tx.q.TakeSlot(ctx, pgq.TakeSlotParams{Slot: int32(slot), RunID: runID, TakenAt: at})
}

// FreeSlot gives the run's slot back; freeing none is no error.
func (tx *Tx) FreeSlot(ctx context.Context, runID string) error {
	_, err := tx.q.FreeSlot(ctx, runID)
	return err
}

func ints(rows []int32) []int {
	out := make([]int, len(rows))
	for i, r := range rows {
		out[i] = int(r)
	}
	return out
}
