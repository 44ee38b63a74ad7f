package store

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"companyos/shared/store/internal/pgq"
)

// Delivery is the receipt of a summary that arrived.
type Delivery struct {
	ProductID   string
	RunID       string
	Channel     string
	Destination string
	Snapshot    json.RawMessage // what the next summary is compared with
	DeliveredAt time.Time
}

// Delivery returns the receipt of a run, nil when its summary did not arrive yet.
func (db *DB) Delivery(ctx context.Context, productID, runID string) (*Delivery, error) {
	return deliveryOrNone(db.single().Delivery(ctx, pgq.DeliveryParams{ProductID: productID, RunID: runID}))
}

// LatestDelivery returns the receipt of the last summary of a Product that arrived, nil for none.
func (db *DB) LatestDelivery(ctx context.Context, productID string) (*Delivery, error) {
	return deliveryOrNone(db.single().LatestDelivery(ctx, productID))
}

func deliveryOrNone(row pgq.Delivery, err error) (*Delivery, error) {
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	d := Delivery(row)
	return &d, unavailable(err)
}

// InsertDelivery keeps a receipt; a second of the same run changes nothing.
func (tx *Tx) InsertDelivery(ctx context.Context, d Delivery) error {
	_, err := tx.q.InsertDelivery(ctx, pgq.InsertDeliveryParams(d))
	return err
}
