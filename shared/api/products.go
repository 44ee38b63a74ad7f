package api

import (
	"context"
	"encoding/json"
	"net/http"

	"companyos/shared/app"
	"companyos/shared/store"
	"companyos/shared/task"
	"companyos/shared/wire"
)

func productRecord(p store.CountedProduct) wire.Product { return wire.NewProduct(p.Product, p.Counts) }

func (s *server) listProducts(ctx context.Context, _ http.ResponseWriter, r *request) (any, error) {
	at, err := position(r.query)
	if err != nil {
		return nil, err
	}
	list, err := s.Company.Products(ctx, at)
	return listPage(list, r.query, productRecord), err
}

func (s *server) createProduct(ctx context.Context, r *request, in wire.ProductCreate) (store.CountedProduct, error) {
	return s.Company.CreateProduct(ctx, r.caller, app.ProductInput{Name: in.Name, Purpose: in.Purpose, Metadata: in.Metadata})
}

func (s *server) getProduct(ctx context.Context, _ http.ResponseWriter, r *request) (any, error) {
	p, err := s.Company.Product(ctx, r.PathValue("product_id"), r.query.IncludeDeleted)
	return productRecord(p), err
}

func (s *server) updateProduct(ctx context.Context, r *request, in wire.ProductUpdate) (any, error) {
	p, err := s.Company.EditProduct(ctx, r.PathValue("product_id"), app.ProductEdit{
		Name: edit(in.Name), Purpose: edit(in.Purpose), Metadata: edit[map[string]json.RawMessage](in.Metadata),
	})
	return productRecord(p), err
}

func (s *server) deleteProduct(ctx context.Context, _ http.ResponseWriter, r *request) (any, error) {
	return nil, s.Company.ArchiveProduct(ctx, r.PathValue("product_id"))
}

func (s *server) restoreProduct(ctx context.Context, _ http.ResponseWriter, r *request) (any, error) {
	p, err := s.Company.RestoreProduct(ctx, r.PathValue("product_id"))
	return productRecord(p), err
}

// page is the part of a list that a query asks for.
func page(q wire.Query) store.Page {
	return store.Page{
		Limit: q.Limit, Number: q.Page, SortBy: store.SortBy(q.SortBy), Ascending: q.SortOrder == "asc", IncludeArchived: q.IncludeDeleted,
	}
}

// position is page, or the part of a list that a cursor asks for.
func position(q wire.Query) (store.Page, error) {
	p := page(q)
	cursor, fields := q.Position()
	if fields != nil {
		return p, &invalid{fields: fields}
	}
	if cursor != nil {
		p.After = &store.Position{At: cursor.At, ID: cursor.ID}
	}
	return p, nil
}

// listPage is a page of a list that can be read by cursor.
func listPage[R, T any](list store.List[R], q wire.Query, build func(R) T) wire.Page[T] {
	p := wire.NewPage(list.Rows, list.Total, q, build)
	if list.Next != nil {
		next := wire.Cursor{SortBy: q.SortBy, SortOrder: q.SortOrder, At: list.Next.At, ID: list.Next.ID}.String()
		p.Meta.NextCursor = &next
	}
	return p
}

// edit is a field of a change as the use cases have it.
func edit[T any](o wire.Opt[T]) task.Opt[T] { return task.Opt[T]{Set: o.Set, Value: o.Ptr()} }

// text is a filter's value, "" when it was not given.
func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// selectsNothing says that a filter was given empty, which no record matches: for the store an empty filter is none.
func selectsNothing(filters ...*string) bool {
	for _, f := range filters {
		if f != nil && *f == "" {
			return true
		}
	}
	return false
}
