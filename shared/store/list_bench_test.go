package store_test

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"slices"
	"testing"
	"time"

	"companyos/shared/company"
	"companyos/shared/store"
	"companyos/shared/store/storetest"
	"companyos/shared/task"
)

// The size of the Company that the benchmarks read.
var (
	benchTasks = flag.Int("tasks", 100_000, "Tasks of the benchmarks' Company")
	benchRuns  = flag.Int("runs", 10_000, "runs of the benchmarks' Company")
)

// listing is a list as a client reads it.
type listing struct {
	name   string
	cursor bool // besides page numbers
	read   func(ctx context.Context, db *store.DB, p store.Page) (rows int, next *store.Position, total int64, err error)
}

// listings are all lists, with each filter and order that they take.
func listings() []listing {
	var all []listing
	counted := func(name string, list func(context.Context, *store.DB, store.Page) (int, int64, error)) {
		all = append(all, listing{name, false, func(ctx context.Context, db *store.DB, p store.Page) (int, *store.Position, int64, error) {
			rows, total, err := list(ctx, db, p)
			return rows, nil, total, err
		}})
	}
	ordered := func(name string, list func(context.Context, *store.DB, store.Page) (int, *store.Position, int64, error)) {
		for _, by := range []store.SortBy{store.SortCreated, store.SortUpdated} {
			for _, ascending := range []bool{false, true} {
				direction := map[bool]string{false: "desc", true: "asc"}[ascending]
				all = append(all, listing{fmt.Sprintf("%s/%s %s", name, by, direction), true, func(ctx context.Context, db *store.DB, p store.Page) (int, *store.Position, int64, error) {
					p.SortBy, p.Ascending = by, ascending
					return list(ctx, db, p)
				}})
			}
		}
	}
	yes := true
	tasks := []struct {
		name string
		f    store.TaskFilter
	}{
		{"", store.TaskFilter{}},
		{" of a Product", store.TaskFilter{ProductID: storetest.FilledProduct}},
		{" of a Project", store.TaskFilter{ProjectID: storetest.FilledProject}},
		{" failed", store.TaskFilter{Failed: &yes}},
		{" of a Product failed", store.TaskFilter{ProductID: storetest.FilledProduct, Failed: &yes}},
	}
	for _, s := range []task.Status{task.StatusBacklog, task.StatusReady, task.StatusInProgress, task.StatusInReview, task.StatusDone, task.StatusCancelled} {
		for _, t := range tasks[:3] {
			t.f.Status = s
			t.name += " " + string(s)
			tasks = append(tasks, t)
		}
	}
	for _, t := range tasks {
		ordered("tasks"+t.name, func(ctx context.Context, db *store.DB, p store.Page) (int, *store.Position, int64, error) {
			l, err := db.Tasks(ctx, p, t.f)
			return len(l.Rows), l.Next, l.Total, err
		})
	}
	ordered("tasks with archived", func(ctx context.Context, db *store.DB, p store.Page) (int, *store.Position, int64, error) {
		p.IncludeArchived = true
		l, err := db.Tasks(ctx, p, store.TaskFilter{})
		return len(l.Rows), l.Next, l.Total, err
	})
	ordered("products", func(ctx context.Context, db *store.DB, p store.Page) (int, *store.Position, int64, error) {
		l, err := db.Products(ctx, p)
		return len(l.Rows), l.Next, l.Total, err
	})
	for name, f := range map[string]store.ProjectFilter{
		"": {}, " of a Product": {ProductID: storetest.FilledProduct}, " active": {Status: company.ProjectActive}, " done": {Status: company.ProjectDone},
	} {
		ordered("projects"+name, func(ctx context.Context, db *store.DB, p store.Page) (int, *store.Position, int64, error) {
			l, err := db.Projects(ctx, p, f)
			return len(l.Rows), l.Next, l.Total, err
		})
	}
	for name, productID := range map[string]string{"attention": "", "attention of a Product": storetest.FilledProduct} {
		all = append(all, listing{name, true, func(ctx context.Context, db *store.DB, p store.Page) (int, *store.Position, int64, error) {
			a, items, err := db.Attention(ctx, productID, p, time.Now())
			var next *store.Position
			if n := len(items); n == p.Limit {
				next = &store.Position{At: items[n-1].Since, ID: cmp.Or(items[n-1].TaskID, items[n-1].RoutineID)}
			}
			return len(items), next, a.Proposals + a.InReview + a.Failed, err
		}})
	}
	counted("sources", func(ctx context.Context, db *store.DB, p store.Page) (int, int64, error) {
		rows, total, err := db.Sources(ctx, p, "")
		return len(rows), total, err
	})
	counted("sources of a Product", func(ctx context.Context, db *store.DB, p store.Page) (int, int64, error) {
		rows, total, err := db.Sources(ctx, p, storetest.FilledProduct)
		return len(rows), total, err
	})
	counted("wiki", func(ctx context.Context, db *store.DB, p store.Page) (int, int64, error) {
		w, rows, err := db.Wiki(ctx, storetest.FilledProduct, p)
		return len(rows), w.Total, err
	})
	counted("decisions", func(ctx context.Context, db *store.DB, p store.Page) (int, int64, error) {
		rows, total, err := db.Decisions(ctx, p, store.DecisionFilter{})
		return len(rows), total, err
	})
	counted("decisions with a text", func(ctx context.Context, db *store.DB, p store.Page) (int, int64, error) {
		rows, total, err := db.Decisions(ctx, p, store.DecisionFilter{Text: "DECISION 1"})
		return len(rows), total, err
	})
	counted("routines", func(ctx context.Context, db *store.DB, p store.Page) (int, int64, error) {
		rows, total, err := db.Routines(ctx, p, "")
		return len(rows), total, err
	})
	counted("routines of a Product", func(ctx context.Context, db *store.DB, p store.Page) (int, int64, error) {
		rows, total, err := db.Routines(ctx, p, storetest.FilledProduct)
		return len(rows), total, err
	})
	counted("runs of a Routine", func(ctx context.Context, db *store.DB, p store.Page) (int, int64, error) {
		rows, total, err := db.RoutineRuns(ctx, storetest.FilledRoutine, p)
		return len(rows), total, err
	})
	counted("runs of a Task", func(ctx context.Context, db *store.DB, p store.Page) (int, int64, error) {
		_, total, err := db.TaskWithRuns(ctx, storetest.FilledTask)
		if err != nil {
			return 0, 0, err
		}
		rows, err := db.RunsOfTask(ctx, storetest.FilledTask, total, p)
		return len(rows), total, err
	})
	return all
}

// rowsRead says how many rows of Tasks and runs were read since the database was made, by its own count.
func rowsRead(t testing.TB, db *store.DB) (rows, scans int64) {
	t.Helper()
	if _, err := db.Pool().Exec(t.Context(), "SELECT pg_stat_force_next_flush()"); err != nil {
		t.Fatal(err)
	}
	err := db.Pool().QueryRow(t.Context(), `SELECT sum(seq_tup_read + COALESCE(idx_tup_fetch, 0))::bigint, sum(seq_scan)::bigint
		FROM pg_stat_user_tables WHERE relname IN ('tasks', 'runs')`).Scan(&rows, &scans)
	if err != nil {
		t.Fatal(err)
	}
	return rows, scans
}

// duties are what a tick and a sweep look for.
func duties() map[string]func(ctx context.Context, db *store.DB, most int) error {
	now := time.Now()
	return map[string]func(ctx context.Context, db *store.DB, most int) error{
		"work of a tick": func(ctx context.Context, db *store.DB, most int) error {
			_, err := db.TickWork(ctx, store.WorkRef{}, now, most)
			return err
		},
		"Routines that complete Projects": func(ctx context.Context, db *store.DB, _ int) error {
			_, err := db.CompletionRoutines(ctx, now)
			return err
		},
		"overdue runs": func(ctx context.Context, db *store.DB, most int) error {
			_, err := db.OverdueRuns(ctx, now, most)
			return err
		},
		"unfinished runs": func(ctx context.Context, db *store.DB, most int) error {
			_, err := db.UnfinishedRuns(ctx, "", most)
			return err
		},
		"the run whose turn it is": func(ctx context.Context, db *store.DB, _ int) error { _, err := db.OldestPending(ctx); return err },
		"due Routines": func(ctx context.Context, db *store.DB, most int) error {
			_, err := db.DueRoutines(ctx, most)
			return err
		},
		"upcoming Routines": func(ctx context.Context, db *store.DB, most int) error {
			_, err := db.UpcomingRoutines(ctx, now.Add(time.Hour), most)
			return err
		},
		"old runs": func(ctx context.Context, db *store.DB, most int) error {
			_, err := db.OldRuns(ctx, now, store.OldRun{}, most)
			return err
		},
		"finished Tasks": func(ctx context.Context, db *store.DB, most int) error {
			_, err := db.FinishedTasks(ctx, storetest.FilledProduct, now, most)
			return err
		},
		"children of an archived Product": func(ctx context.Context, db *store.DB, most int) error {
			_, err := db.CascadeBatch(ctx, now, most)
			return err
		},
	}
}

// TestListsDoNotScan: no list, no count and no duty reads many more Tasks and runs than it shows, and none reads either table
// from end to end.
func TestListsDoNotScan(t *testing.T) {
	t.Parallel()
	whole := storetest.Open(t)
	storetest.Fill(t, whole, storetest.Size{Tasks: 24_000, Runs: 4_000})
	// One connection, whose statistics can be asked for.
	db, err := store.Open(t.Context(), store.Config{URL: whole.Pool().Config().ConnString(), MaxConns: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	if _, err := db.Pool().Exec(t.Context(), "INSERT INTO cascades VALUES ('product', $1, 'task', NULL, NULL, now() - interval '1 day')", storetest.FilledProduct); err != nil {
		t.Fatal(err)
	}
	const limit = 5
	bounded := func(name string, read func() error) {
		t.Helper()
		before, scansBefore := rowsRead(t, db)
		if err := read(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		after, scans := rowsRead(t, db)
		if read := after - before; read > 500 || scans != scansBefore {
			t.Errorf("%s: %d rows were read for %d, by %d scans of a whole table", name, read, limit, scans-scansBefore)
		}
	}
	for _, l := range listings() {
		bounded(l.name, func() error {
			_, _, _, err := l.read(t.Context(), db, store.Page{Limit: limit, Number: 1, SortBy: store.SortCreated})
			return err
		})
	}
	for name, look := range duties() {
		bounded(name, func() error { return look(t.Context(), db, limit) })
	}
}

// BenchmarkLists reads the first page of every list and, where there is one, the 1,000th, by cursor and by number. Run it with
// -tasks 1000000 -runs 100000.
func BenchmarkLists(b *testing.B) {
	db := storetest.Open(b)
	storetest.Fill(b, db, storetest.Size{Tasks: *benchTasks, Runs: *benchRuns})
	const limit, far = 20, 1000
	for _, l := range listings() {
		first := store.Page{Limit: limit, Number: 1, SortBy: store.SortCreated}
		median(b, l.name+"/1", func() error { _, _, _, err := l.read(b.Context(), db, first); return err })
		number := first
		number.Number = far
		if rows, _, _, err := l.read(b.Context(), db, number); err != nil || rows < limit {
			continue
		}
		median(b, l.name+"/1000 by number", func() error { _, _, _, err := l.read(b.Context(), db, number); return err })
		if !l.cursor {
			continue
		}
		behind := first
		behind.Limit = limit * (far - 1)
		_, next, _, err := l.read(b.Context(), db, behind)
		if err != nil || next == nil {
			b.Fatalf("%s: %v", l.name, err)
		}
		cursor := first
		cursor.After = next
		median(b, l.name+"/1000 by cursor", func() error { _, _, _, err := l.read(b.Context(), db, cursor); return err })
	}
}

// median reports the middle one of the durations beside the mean.
func median(b *testing.B, name string, read func() error) {
	b.Run(name, func(b *testing.B) {
		var took []time.Duration
		for b.Loop() {
			began := time.Now()
			if err := read(); err != nil {
				b.Fatal(err)
			}
			took = append(took, time.Since(began))
		}
		slices.Sort(took)
		b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "median-ms")
	})
}
