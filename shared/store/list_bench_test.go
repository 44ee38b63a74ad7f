package store_test

import (
	"testing"

	"companyos/shared/store"
	"companyos/shared/store/storetest"
)

// BenchmarkPages reads the first page of 100,000 Tasks, and the 1,000th: by cursor, and by number for comparison.
func BenchmarkPages(b *testing.B) {
	ctx, db := b.Context(), storetest.Open(b)
	_, err := db.Pool().Exec(ctx, `INSERT INTO products (id, name, metadata, cascades, revision, created_at) VALUES ('p', 'p', '{}', '[]', 0, now())`)
	if err == nil {
		_, err = db.Pool().Exec(ctx, `INSERT INTO projects (id, product_id, name, status, transitions, open_id, cascades, product_archive, revision, created_at)
			VALUES ('j', 'p', 'j', 'active', '[]', 'j', '[]', 0, 0, now())`)
	}
	if err == nil {
		_, err = db.Pool().Exec(ctx, `INSERT INTO tasks (id, product_id, project_id, open_project_id, title, origin, status, transitions,
				session_id, failed, product_archive, project_archive, revision, created_at, updated_at)
			SELECT 'task-' || n, 'p', 'j', 'j', 'Task', 'human', 'backlog', '[]', 's-' || n, FALSE, 0, 0, 0,
				now() - (n % 5000) * interval '1 minute', CASE WHEN n % 3 = 0 THEN now() - n * interval '1 second' END
			FROM generate_series(1, 100000) n`)
	}
	if err == nil {
		_, err = db.Pool().Exec(ctx, "ANALYZE")
	}
	if err != nil {
		b.Fatal(err)
	}
	const limit, far = 20, 1000
	for _, by := range []store.SortBy{store.SortCreated, store.SortUpdated} {
		for name, filter := range map[string]store.TaskFilter{"all": {}, "product": {ProductID: "p"}} {
			page := store.Page{Limit: limit, Number: 1, SortBy: by}
			behind := store.Page{Limit: limit * (far - 1), Number: 1, SortBy: by}
			skipped, err := db.Tasks(ctx, behind, filter)
			if err != nil || skipped.Next == nil {
				b.Fatal(err)
			}
			pages := map[string]store.Page{"first": page, "1000 by cursor": page, "1000 by number": page}
			cursor, number := pages["1000 by cursor"], pages["1000 by number"]
			cursor.After, number.Number = skipped.Next, far
			pages["1000 by cursor"], pages["1000 by number"] = cursor, number
			for kind, p := range pages {
				b.Run(string(by)+"/"+name+"/"+kind, func(b *testing.B) {
					for b.Loop() {
						list, err := db.Tasks(ctx, p, filter)
						if err != nil || len(list.Rows) != limit {
							b.Fatal(len(list.Rows), err)
						}
					}
				})
			}
		}
	}
}
