package store

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/google/uuid"

	"companyos/shared/company"
	"companyos/shared/store/internal/pgq"
	"companyos/shared/task"
)

// Totals are sums of counters, never scans. Each write of a Product, Project or Task inserts what it changes into
// count_deltas; FoldCounts adds them to counts. Invariant I9 compares both with the rows themselves.

type countKey struct {
	kind, productID, projectID, status string
	failed, archived                   bool
}

func (k countKey) delta(n int64) pgq.InsertCountDeltaParams {
	return pgq.InsertCountDeltaParams{
		ID: uuid.New(), Kind: k.kind, ProductID: k.productID, ProjectID: k.projectID, Status: k.status,
		Failed: k.failed, Archived: k.archived, N: n,
	}
}

// count records that a row moved from one key to another; either may be nil.
func (tx *Tx) count(ctx context.Context, before, after *countKey) error {
	if before != nil && after != nil && *before == *after {
		return nil
	}
	if before != nil {
		if err := tx.q.InsertCountDelta(ctx, before.delta(-1)); err != nil {
			return err
		}
	}
	if after != nil {
		return tx.q.InsertCountDelta(ctx, after.delta(1))
	}
	return nil
}

func productKey(p *company.Product) *countKey {
	return &countKey{kind: "product", productID: p.ID, archived: p.ArchivedAt != nil}
}

func projectKey(p *company.Project) *countKey {
	return &countKey{
		kind: "project", productID: p.ProductID, projectID: p.ID, status: string(p.Status),
		archived: ownArchivedAt(p.ArchivedAt, p.Transitions) != nil,
	}
}

func taskKey(t *task.Task) *countKey {
	return &countKey{
		kind: "task", productID: t.ProductID, projectID: t.ProjectID, status: string(t.Status), failed: t.Failed(),
		archived: ownArchivedAt(t.ArchivedAt, t.Transitions) != nil,
	}
}

// foldBatch keeps one fold short, and well below the 3,000 rows that a portable transaction may write.
const foldBatch = 250

// FoldCounts adds one batch of deltas to the counters and returns how many it folded.
func (db *DB) FoldCounts(ctx context.Context) (folded int, err error) {
	err = db.Transact(ctx, func(ctx context.Context, tx *Tx) error {
		folded = 0
		deltas, err := tx.q.TakeCountDeltas(ctx, foldBatch)
		if err != nil {
			return err
		}
		sums := map[pgq.AddToCountParams]int64{}
		for _, d := range deltas {
			sums[pgq.AddToCountParams{
				Kind: d.Kind, ProductID: d.ProductID, ProjectID: d.ProjectID, Status: d.Status, Failed: d.Failed, Archived: d.Archived,
			}] += d.N
		}
		for key, n := range sums {
			if key.N = n; n == 0 {
				continue
			}
			if err := tx.q.AddToCount(ctx, key); err != nil {
				return err
			}
		}
		folded = len(deltas)
		return nil
	})
	return folded, err
}

// decodeCounts reads the object that productCounts and projectCounts make.
func decodeCounts(raw json.RawMessage) (c company.ProductCounts, err error) {
	c.Tasks = company.TaskCounts{}
	if raw == nil {
		return c, nil
	}
	var flat map[string]int64
	if err := json.Unmarshal(raw, &flat); err != nil {
		return c, err
	}
	for key, n := range flat {
		kind, status, _ := strings.Cut(key, ":")
		switch {
		case kind == "task":
			c.Tasks[task.Status(status)] = n
		case company.ProjectStatus(status).Open():
			c.Projects += n
		}
	}
	return c, nil
}
