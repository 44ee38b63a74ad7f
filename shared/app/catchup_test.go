package app_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"companyos/shared/app"
	"companyos/shared/app/apptest"
	"companyos/shared/store"
	"companyos/shared/task"
)

// fill adds so many Tasks to the Bench's Project.
func fill(b *apptest.Bench, n int) {
	b.T.Helper()
	_, err := b.DB.Pool().Exec(b.T.Context(), `INSERT INTO tasks (id, product_id, project_id, open_project_id, title, origin, status, transitions,
			session_id, failed, product_archive, project_archive, revision, created_at)
		SELECT 'filled-' || n, $1, $2, $2, 'Task ' || n, 'human', 'backlog', '[]', 's-' || n, FALSE, 0, 0, 0, now() - n * interval '1 second'
		FROM generate_series(1, $3) n`, b.ProductID, b.ProjectID, n)
	if err == nil {
		_, err = b.DB.Pool().Exec(b.T.Context(), `INSERT INTO count_deltas (id, kind, product_id, project_id, status, failed, archived, n)
			VALUES (gen_random_uuid(), 'task', $1, $2, 'backlog', FALSE, FALSE, $3)`, b.ProductID, b.ProjectID, n)
	}
	if err != nil {
		b.T.Fatal(err)
	}
}

// seen is what readers see of the children, hidden ones included, as JSON.
func seen(b *apptest.Bench) map[string]string {
	b.T.Helper()
	out := map[string]string{}
	ids := func(table string) []string {
		rows, err := b.DB.Pool().Query(b.T.Context(), "SELECT id FROM "+table)
		if err != nil {
			b.T.Fatal(err)
		}
		defer rows.Close()
		var all []string
		for rows.Next() {
			var id string
			if err := rows.Scan(&id); err != nil {
				b.T.Fatal(err)
			}
			all = append(all, id)
		}
		return all
	}
	keep := func(id string, v any, err error) {
		raw, encoding := json.Marshal(v)
		if err := errors.Join(err, encoding); err != nil {
			b.T.Fatal(err)
		}
		out[id] = string(raw)
	}
	for _, id := range ids("tasks") {
		t, err := b.DB.Task(b.T.Context(), id)
		keep(id, t, err)
	}
	for _, id := range ids("projects") {
		p, err := b.DB.Project(b.T.Context(), id)
		keep(id, p, err)
	}
	return out
}

// behind counts the rows that lag behind their parents, and the announcements.
func behind(b *apptest.Bench) (n int) {
	b.T.Helper()
	err := b.DB.Pool().QueryRow(b.T.Context(), `SELECT (SELECT count(*) FROM tasks t JOIN products p ON p.id = t.product_id JOIN projects j ON j.id = t.project_id
			WHERE t.product_archive <> jsonb_array_length(p.cascades) OR t.project_archive <> jsonb_array_length(j.cascades))
		+ (SELECT count(*) FROM projects j JOIN products p ON p.id = j.product_id WHERE j.product_archive <> jsonb_array_length(p.cascades))
		+ (SELECT count(*) FROM cascades)`).Scan(&n)
	if err != nil {
		b.T.Fatal(err)
	}
	return n
}

func catchUp(b *apptest.Bench) {
	b.T.Helper()
	if _, err := b.CatchUp(b.T.Context(), time.Now().Add(time.Minute)); err != nil {
		b.T.Fatal(err)
	}
	if n := behind(b); n != 0 {
		b.T.Fatalf("%d rows are behind", n)
	}
}

// TestCatchUp: after each change of a parent the rows get byte for byte what readers saw before.
func TestCatchUp(t *testing.T) {
	t.Parallel()
	ctx, b := t.Context(), apptest.New(t, 1)
	fill(b, 12)
	other, err := b.CreateProject(ctx, apptest.Alice(), app.ProjectInput{ProductID: b.ProductID, Name: "Other"})
	must(t, err)
	alone, err := b.CreateTask(ctx, apptest.Alice(), app.TaskInput{ProductID: b.ProductID, ProjectID: other.ID, Title: "alone"})
	must(t, err)
	restore := func(_ store.CountedProject, err error) error { return err }
	for _, step := range []struct {
		name string
		do   func() error
	}{
		{"a Task by itself", func() error { return b.ArchiveTask(ctx, alone.ID) }},
		{"its Project", func() error { return b.ArchiveProject(ctx, other.ID) }},
		{"the Product", func() error { return b.ArchiveProduct(ctx, b.ProductID) }},
		{"the Product back", func() error { _, err := b.RestoreProduct(ctx, b.ProductID); return err }},
		{"the Project back", func() error { return restore(b.RestoreProject(ctx, other.ID)) }},
		{"the Task back", func() error { _, err := b.RestoreTask(ctx, alone.ID); return err }},
		{"the Product twice", func() error {
			if err := b.ArchiveProduct(ctx, b.ProductID); err != nil {
				return err
			}
			if _, err := b.RestoreProduct(ctx, b.ProductID); err != nil {
				return err
			}
			return b.ArchiveProduct(ctx, b.ProductID)
		}},
	} {
		must(t, step.do())
		before := seen(b)
		catchUp(b)
		if diff := cmp.Diff(before, seen(b)); diff != "" {
			t.Errorf("%s: (-derived +stored)\n%s", step.name, diff)
		}
		b.Check()
	}
	var entries, own int
	err = b.DB.Pool().QueryRow(ctx, "SELECT jsonb_array_length(transitions), (SELECT count(*) FROM tasks WHERE archived_at IS NOT NULL) FROM tasks WHERE id = 'filled-1'").Scan(&entries, &own)
	if err != nil || entries != 5 || own != 0 {
		t.Errorf("the row holds %d entries, %d Tasks count as archived by themselves: %v", entries, own, err)
	}
}

// TestCatchUpNeverTouchesARevision: an edit that began before the batch goes through after it.
func TestCatchUpNeverTouchesARevision(t *testing.T) {
	t.Parallel()
	ctx, b := t.Context(), apptest.New(t, 1)
	tk, err := b.CreateTask(ctx, apptest.Alice(), app.TaskInput{ProductID: b.ProductID, ProjectID: b.ProjectID, Title: "x"})
	must(t, err)
	must(t, b.ArchiveProduct(ctx, b.ProductID))
	_, err = b.RestoreProduct(ctx, b.ProductID)
	must(t, err)
	before, err := b.DB.Task(ctx, tk.ID)
	must(t, err)
	catchUp(b)
	after := before.Task
	after.Title = "edited"
	must(t, b.DB.Transact(ctx, func(ctx context.Context, tx *store.Tx) error { return tx.SaveTask(ctx, &before.Task, &after) }))
	now := b.TaskNow(tk.ID)
	if now.Title != "edited" || len(now.Transitions) != 2 {
		t.Errorf("after the edit: %+v", now)
	}
}

// TestCatchUpIsCutAnywhere: a crash before, in and after each batch loses nothing; two sweeps and a parent that changes
// meanwhile do not disturb each other.
func TestCatchUpIsCutAnywhere(t *testing.T) {
	t.Parallel()
	ctx, b := t.Context(), apptest.New(t, 1)
	fill(b, 1000)
	must(t, b.ArchiveProduct(ctx, b.ProductID))
	crash := errors.New("crash")
	for cut := 0; ; cut++ {
		batch, err := b.DB.CascadeBatch(ctx, time.Now().Add(time.Minute), 200)
		must(t, err)
		if batch == nil {
			break
		}
		err = b.DB.Transact(ctx, func(ctx context.Context, tx *store.Tx) error {
			if err := tx.SaveCascadeBatch(ctx, batch); err != nil {
				return err
			}
			if cut%2 == 0 {
				return crash
			}
			return nil
		})
		if (cut%2 == 0) != errors.Is(err, crash) {
			t.Fatal(err)
		}
		if cut > 30 {
			t.Fatal("the batches do not end")
		}
	}
	if n := behind(b); n != 0 {
		t.Fatalf("%d rows are behind", n)
	}
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for range 5 {
				if _, err := b.CatchUp(ctx, time.Now().Add(time.Minute)); err != nil && task.KindOf(err) != task.KindUnavailable {
					t.Error(err)
				}
			}
		})
	}
	for range 4 {
		_, err := b.RestoreProduct(ctx, b.ProductID)
		must(t, err)
		must(t, b.ArchiveProduct(ctx, b.ProductID))
	}
	wg.Wait()
	before, err := b.DB.Task(ctx, "filled-7")
	must(t, err)
	catchUp(b)
	after, err := b.DB.Task(ctx, "filled-7")
	must(t, err)
	if diff := cmp.Diff(before, after); diff != "" || len(after.Transitions) != 9 {
		t.Errorf("%d entries (-derived +stored)\n%s", len(after.Transitions), diff)
	}
	b.Check()
}

// TestCatchUpCancelsHiddenRuns: a start that overtook the archiving of its Product is ended.
func TestCatchUpCancelsHiddenRuns(t *testing.T) {
	t.Parallel()
	ctx, b := t.Context(), apptest.New(t, 1)
	run := b.Start(b.NewTask(task.ExecutorAgent, apptest.Engineer).ID, 1)
	must(t, b.DB.Transact(ctx, func(ctx context.Context, tx *store.Tx) error {
		before, err := tx.Product(ctx, b.ProductID)
		if err != nil {
			return err
		}
		after := before.Archived(time.Now().UTC().Truncate(time.Microsecond))
		return tx.SaveProduct(ctx, &before, &after)
	}))
	if rows, err := b.CatchUp(ctx, time.Now().Add(-time.Minute)); rows != 0 || err != nil {
		t.Errorf("a change of this moment is not left alone: %d rows, %v", rows, err)
	}
	catchUp(b)
	b.Pass(2 * time.Minute)
	if r := b.RunNow(run); r.State != task.StateCancelled {
		t.Errorf("the hidden run is %s", r.State)
	}
	b.Check()
}

// TestCatchUpOfManyTasks: the cascade over a Product with 10,000 Tasks goes in batches, and leaves nothing behind.
func TestCatchUpOfManyTasks(t *testing.T) {
	t.Parallel()
	const tasks, rows = 10_000, 200
	ctx, b := t.Context(), apptest.New(t, 1)
	fill(b, tasks)
	must(t, b.ArchiveProduct(ctx, b.ProductID))
	batches := 0
	for ; ; batches++ {
		batch, err := b.DB.CascadeBatch(ctx, time.Now().Add(time.Minute), rows)
		must(t, err)
		if batch == nil {
			break
		}
		must(t, b.DB.Transact(ctx, func(ctx context.Context, tx *store.Tx) error { return tx.SaveCascadeBatch(ctx, batch) }))
	}
	if batches < tasks/rows {
		t.Errorf("%d batches: some had more than %d rows", batches, rows)
	}
	if n := behind(b); n != 0 {
		t.Errorf("%d rows are behind", n)
	}
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// TestFoldCounts: whatever was counted since the last sweep is added up, by two at once too, and the totals stay what they are.
func TestFoldCounts(t *testing.T) {
	t.Parallel()
	ctx, b := t.Context(), apptest.New(t, 1)
	fill(b, 12)
	_, err := b.DB.Pool().Exec(ctx, `INSERT INTO count_deltas (id, kind, product_id, project_id, status, failed, archived, n)
		SELECT gen_random_uuid(), 'task', $1, $2, 'backlog', FALSE, FALSE, CASE WHEN n % 2 = 0 THEN 1 ELSE -1 END FROM generate_series(1, 2000) n`, b.ProductID, b.ProjectID)
	must(t, err)
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			if err := b.FoldCounts(ctx); err != nil && task.KindOf(err) != task.KindUnavailable {
				t.Error(err)
			}
		})
	}
	all.Wait()
	must(t, b.FoldCounts(ctx))
	var left, backlog int
	err = b.DB.Pool().QueryRow(ctx, "SELECT (SELECT count(*) FROM count_deltas), (SELECT sum(n) FROM counts WHERE kind = 'task')").Scan(&left, &backlog)
	if err != nil || left != 0 || backlog != 12 {
		t.Errorf("%d deltas are left, %d Tasks are counted: %v", left, backlog, err)
	}
	b.Check()
}
