package store

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"companyos/shared/company"
	"companyos/shared/store/internal/pgq"
	"companyos/shared/task"
)

// ErrChanged says that a row is no longer as its writer read it.
var ErrChanged = errors.New("the record was changed by somebody else")

// CountedProduct is a Product with what its record counts.
type CountedProduct struct {
	company.Product
	Counts company.ProductCounts
}

type productRow struct {
	pgq.Product
	Counts json.RawMessage
}

// Product returns a Product, archived or not. KindNotFound when there is none.
func (db *DB) Product(ctx context.Context, id string) (CountedProduct, error) {
	row, err := fetchOne[productRow](ctx, db, productList, id)
	if err != nil {
		return CountedProduct{}, notFound(err, "Product")
	}
	return row.counted()
}

// Products returns one page and the number of all.
func (db *DB) Products(ctx context.Context, p Page) (List[CountedProduct], error) {
	return fetchList(ctx, db, productList, p, nil, productRow.counted)
}

func (r productRow) place() (createdAt time.Time, updatedAt *time.Time, id string) {
	return r.CreatedAt, r.UpdatedAt, r.ID
}

func (r productRow) counted() (c CountedProduct, err error) {
	if c.Product, err = decodeProduct(r.Product); err != nil {
		return c, err
	}
	c.Counts, err = decodeCounts(r.Counts)
	return c, err
}

// Product reads a Product inside the transaction. KindNotFound when there is none.
func (tx *Tx) Product(ctx context.Context, id string) (company.Product, error) {
	row, err := tx.q.Product(ctx, id)
	if err != nil {
		return company.Product{}, notFound(err, "Product")
	}
	return decodeProduct(row)
}

// HasProducts says whether there is any Product, archived ones included.
func (tx *Tx) HasProducts(ctx context.Context) (bool, error) { return tx.q.HasProducts(ctx) }

// InsertProduct adds a Product.
func (tx *Tx) InsertProduct(ctx context.Context, p *company.Product) error {
	err := tx.q.InsertProduct(ctx, pgq.InsertProductParams{
		ID: p.ID, Name: p.Name, Purpose: p.Purpose, UserID: p.UserID, Metadata: encode(p.Metadata), Cascades: encodeList(p.Cascades),
		Revision: p.Revision, CreatedAt: p.CreatedAt, UpdatedAt: p.UpdatedAt, ArchivedAt: p.ArchivedAt,
	})
	if err != nil {
		return err
	}
	return tx.count(ctx, nil, productKey(p))
}

// SaveProduct writes after over before, ErrChanged when before is not what is stored.
func (tx *Tx) SaveProduct(ctx context.Context, before, after *company.Product) error {
	n, err := tx.q.UpdateProduct(ctx, pgq.UpdateProductParams{
		ID: before.ID, Revision: before.Revision, Name: after.Name, Purpose: after.Purpose, Metadata: encode(after.Metadata),
		Cascades: encodeList(after.Cascades), UpdatedAt: after.UpdatedAt, ArchivedAt: after.ArchivedAt,
	})
	if err := changed(n, err); err != nil {
		return err
	}
	if err := tx.announceCascades(ctx, "product", after.ID, after.Cascades, len(before.Cascades), "project", "task"); err != nil {
		return err
	}
	return tx.count(ctx, productKey(before), productKey(after))
}

// ActiveTasksOfProduct returns the Tasks that keep a Product from being archived, at most limit.
func (tx *Tx) ActiveTasksOfProduct(ctx context.Context, id string, limit int) ([]task.Ref, error) {
	rows, err := tx.q.ActiveTasksOfProduct(ctx, pgq.ActiveTasksOfProductParams{ProductID: id, MaxRows: int32(limit)})
	if err != nil {
		return nil, err
	}
	return convert(rows, func(r pgq.ActiveTasksOfProductRow) (task.Ref, error) { return task.Ref(r), nil })
}

func decodeProduct(r pgq.Product) (p company.Product, err error) {
	p = company.Product{
		ID: r.ID, Name: r.Name, Purpose: r.Purpose, UserID: r.UserID, Revision: r.Revision,
		CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt, ArchivedAt: r.ArchivedAt,
	}
	return p, errors.Join(json.Unmarshal(r.Metadata, &p.Metadata), json.Unmarshal(r.Cascades, &p.Cascades))
}

// ownArchivedAt is what a child's row stores: its own archiving. One through a parent is derived from the parent.
func ownArchivedAt(at *time.Time, entries []task.Entry) *time.Time {
	if company.ArchivedThroughParent(entries) {
		return nil
	}
	return at
}

func changed(rows int64, err error) error {
	if err == nil && rows == 0 {
		return ErrChanged
	}
	return err
}

func notFound(err error, what string) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return task.NotFound(what)
	}
	return err
}

func convert[R, T any](rows []R, f func(R) (T, error)) ([]T, error) {
	out := make([]T, 0, len(rows))
	for _, r := range rows {
		t, err := f(r)
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}

// encode writes a value that always has a JSON form.
func encode(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // only values of this module's own types come here
	}
	return b
}

// encodeList writes nil as [], so that a list column is never null.
func encodeList[T any](v []T) json.RawMessage {
	if v == nil {
		return json.RawMessage("[]")
	}
	return encode(v)
}

// encodePtr writes nil as a null of SQL.
func encodePtr[T any](v *T) json.RawMessage {
	if v == nil {
		return nil
	}
	return encode(v)
}

func decodePtr[T any](raw json.RawMessage) (*T, error) {
	if raw == nil {
		return nil, nil
	}
	v := new(T)
	return v, json.Unmarshal(raw, v)
}
