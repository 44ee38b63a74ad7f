package store_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"

	"companyos/shared/company"
	"companyos/shared/store"
	"companyos/shared/store/storetest"
	"companyos/shared/task"
)

func product(name string) *company.Product {
	m, _ := company.NewMetadata(nil, nil)
	return &company.Product{ID: uuid.NewString(), Name: name, Metadata: m, CreatedAt: time.Now().UTC().Truncate(time.Microsecond)}
}

func add(t *testing.T, db *store.DB, p *company.Product) {
	t.Helper()
	if err := db.Transact(t.Context(), func(ctx context.Context, tx *store.Tx) error { return tx.InsertProduct(ctx, p) }); err != nil {
		t.Fatal(err)
	}
}

func TestTransactRepeatsAfterAConflict(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t)
	p := product("p")
	add(t, db, p)
	const writers = 4
	var tries atomic.Int32
	var wg sync.WaitGroup
	start := make(chan struct{})
	for range writers {
		wg.Go(func() {
			<-start
			err := db.Transact(t.Context(), func(ctx context.Context, tx *store.Tx) error {
				tries.Add(1)
				before, err := tx.Product(ctx, p.ID)
				if err != nil {
					return err
				}
				time.Sleep(20 * time.Millisecond) // all have read before the first writes
				after := before
				after.Name += "+"
				return tx.SaveProduct(ctx, &before, &after)
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	close(start)
	wg.Wait()
	got, err := db.Product(t.Context(), p.ID)
	if err != nil || got.Name != "p++++" || got.Revision != writers {
		t.Fatalf("got %q revision %d, %v: an update was lost", got.Name, got.Revision, err)
	}
	if tries.Load() <= writers {
		t.Fatal("no conflict happened: the test showed nothing")
	}
}

func TestTransactGivesUp(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t)
	tries := 0
	err := db.Transact(t.Context(), func(context.Context, *store.Tx) error {
		tries++
		return &pgconn.PgError{Code: "40001"}
	})
	if task.KindOf(err) != task.KindUnavailable || tries != 5 {
		t.Fatalf("%v after %d tries", err, tries)
	}
}

func TestTransactLeavesOtherErrorsAlone(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t)
	mine := errors.New("mine")
	tries := 0
	if err := db.Transact(t.Context(), func(context.Context, *store.Tx) error { tries++; return mine }); !errors.Is(err, mine) || tries != 1 {
		t.Fatal(err, tries)
	}
	p := product("twice")
	add(t, db, p)
	err := db.Transact(t.Context(), func(ctx context.Context, tx *store.Tx) error { return tx.InsertProduct(ctx, p) })
	if pe, ok := errors.AsType[*pgconn.PgError](err); !ok || pe.Code != "23505" {
		t.Fatalf("a violation that no guard expects became %v", err)
	}
}

func TestTransactDoesNotNest(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t)
	err := db.Transact(t.Context(), func(ctx context.Context, _ *store.Tx) error {
		return db.Transact(ctx, func(context.Context, *store.Tx) error { return nil })
	})
	if err == nil {
		t.Fatal("a transaction inside a transaction was let pass")
	}
}

func TestTransactNeverRepeatsAnUnknownCommit(t *testing.T) {
	t.Parallel()
	for _, after := range []bool{false, true} {
		direct := storetest.Open(t)
		db, commits := storetest.CutCommits(t, direct, after)
		p, tries := product("unknown"), 0
		err := db.Transact(t.Context(), func(ctx context.Context, tx *store.Tx) error {
			tries++
			return tx.InsertProduct(ctx, p)
		})
		if !errors.Is(err, store.ErrUnknownOutcome) || task.KindOf(err) != task.KindUnavailable || tries != 1 || commits() != 1 {
			t.Fatalf("after=%v: %v, %d tries, %d commits", after, err, tries, commits())
		}
		there := false
		for end := time.Now().Add(5 * time.Second); there != after && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			_, err = direct.Product(t.Context(), p.ID)
			there = err == nil
		}
		if there != after {
			t.Fatalf("after=%v: the row is there: %v (%v)", after, there, err)
		}
	}
}

func TestADatabaseThatIsAway(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	db, err := store.Open(t.Context(), store.Config{URL: "postgres://u:p@" + addr + "/d?sslmode=disable"})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	began := time.Now()
	_, err = db.Product(t.Context(), "x")
	if task.KindOf(err) != task.KindUnavailable {
		t.Errorf("a read answers %v", err)
	}
	err = db.Transact(t.Context(), func(context.Context, *store.Tx) error { return nil })
	if task.KindOf(err) != task.KindUnavailable || time.Since(began) > 3*time.Second {
		t.Errorf("a write answers %v after %v", err, time.Since(began))
	}
}

// A serialization failure may come as late as COMMIT; on Aurora DSQL it usually does.
func TestTransactRepeatsAfterAConflictAtCommit(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t)
	storetest.FailCommits(t, db, "products", 2)
	p := product("late")
	tries := 0
	err := db.Transact(t.Context(), func(ctx context.Context, tx *store.Tx) error {
		tries++
		return tx.InsertProduct(ctx, p)
	})
	if err != nil || tries != 3 {
		t.Fatalf("%v after %d tries", err, tries)
	}
	if _, err := db.Product(t.Context(), p.ID); err != nil {
		t.Fatal(err)
	}
}

// TestSingleStatementsRepeatAfterAConflict: whoever comes second to the same row succeeds, is refused, or may come again.
func TestSingleStatementsRepeatAfterAConflict(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t)
	storetest.FailCommits(t, db, "claims", 2)
	if held, err := db.TakeClaim(t.Context(), "late", "h", time.Minute); err != nil || !held {
		t.Errorf("after conflicts at COMMIT: %v, %v", held, err)
	}
	var wg sync.WaitGroup
	for n := range 4 {
		wg.Go(func() {
			holder := fmt.Sprint(n)
			for range 200 {
				held, err := db.TakeClaim(t.Context(), "duty", holder, time.Minute)
				if err == nil && held {
					err = db.FreeClaim(t.Context(), "duty", holder)
				}
				if err != nil && task.KindOf(err) != task.KindUnavailable {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}
