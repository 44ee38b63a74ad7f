package store

import (
	"context"
	_ "embed"
)

//go:embed invariants.sql
var invariants string

// Invariants checks what must hold of the rows at any time and returns a line for each record that breaks one. It reads
// everything: it is for tests and for an operator's doubt.
func (db *DB) Invariants(ctx context.Context) (broken []string, err error) {
	rows, err := db.pool.Query(ctx, invariants)
	if err != nil {
		return nil, unavailable(err)
	}
	defer rows.Close()
	for rows.Next() {
		var invariant, record, problem string
		if err := rows.Scan(&invariant, &record, &problem); err != nil {
			return nil, err
		}
		broken = append(broken, invariant+": "+record+": "+problem)
	}
	return broken, unavailable(rows.Err())
}
