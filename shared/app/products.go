package app

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/google/uuid"

	"companyos/shared/company"
	"companyos/shared/store"
	"companyos/shared/task"
)

// maxRefs bounds how many records an error names.
const maxRefs = 100

// ProductInput is a new Product.
type ProductInput struct {
	Name     string
	Purpose  *string
	Metadata map[string]json.RawMessage
}

// ProductEdit is an edit of a Product.
type ProductEdit struct {
	Name     task.Opt[string]
	Purpose  task.Opt[string]
	Metadata task.Opt[map[string]json.RawMessage]
}

// CreateProduct adds a Product. KindInvalid for metadata that breaks a rule.
func (c *Company) CreateProduct(ctx context.Context, by task.Caller, in ProductInput) (store.CountedProduct, error) {
	metadata, err := company.NewMetadata(in.Metadata, nil)
	if err != nil {
		return store.CountedProduct{}, err
	}
	p := company.Product{ID: uuid.NewString(), Name: in.Name, Purpose: in.Purpose, UserID: &by.ID, Metadata: metadata, CreatedAt: c.now()}
	record := func() any { return store.CountedProduct{Product: p} }
	err = c.create(ctx, by, record, func(ctx context.Context, tx *store.Tx) error { return tx.InsertProduct(ctx, &p) })
	return store.CountedProduct{Product: p}, err
}

// openProduct is the Product that something new is put into.
func openProduct(ctx context.Context, tx *store.Tx, id string) (company.Product, error) {
	p, err := tx.Product(ctx, id)
	if err == nil && p.ArchivedAt != nil {
		err = task.NotFound("Product")
	}
	return p, err
}

// Product returns a Product. KindNotFound when there is none, or it is archived and archived ones are not wanted.
func (c *Company) Product(ctx context.Context, id string, includeArchived bool) (store.CountedProduct, error) {
	p, err := c.DB.Product(ctx, id)
	if err == nil && p.ArchivedAt != nil && !includeArchived {
		return store.CountedProduct{}, task.NotFound("Product")
	}
	return p, err
}

// Products returns one page and the number of all.
func (c *Company) Products(ctx context.Context, page store.Page) (store.List[store.CountedProduct], error) {
	return c.DB.Products(ctx, page)
}

// EditProduct changes a Product. The last writer wins. An edit of nothing changes nothing.
func (c *Company) EditProduct(ctx context.Context, id string, e ProductEdit) (store.CountedProduct, error) {
	err := c.changeProduct(ctx, id, func(_ context.Context, _ *store.Tx, p company.Product) (company.Product, error) {
		if p.ArchivedAt != nil {
			return p, task.NotFound("Product")
		}
		if !e.Name.Set && !e.Purpose.Set && !e.Metadata.Set {
			return p, errUnchanged
		}
		p.Name, p.Purpose = *e.Name.Or(&p.Name), e.Purpose.Or(p.Purpose)
		if e.Metadata.Set {
			given := map[string]json.RawMessage{}
			if e.Metadata.Value != nil {
				given = *e.Metadata.Value
			}
			metadata, err := company.NewMetadata(given, p.Metadata)
			if err != nil {
				return p, err
			}
			p.Metadata = metadata
		}
		p.UpdatedAt = ptr(c.now())
		return p, nil
	})
	if err != nil {
		return store.CountedProduct{}, err
	}
	return c.DB.Product(ctx, id)
}

// ArchiveProduct archives a Product and, with it, what is in it. KindConflict while a Task in it is accepted and not
// finished.
func (c *Company) ArchiveProduct(ctx context.Context, id string) error {
	return c.changeProduct(ctx, id, func(ctx context.Context, tx *store.Tx, p company.Product) (company.Product, error) {
		if p.ArchivedAt != nil {
			return p, task.NotFound("Product")
		}
		active, err := tx.ActiveTasksOfProduct(ctx, id, maxRefs)
		if err != nil {
			return p, err
		}
		if len(active) > 0 {
			return p, company.ActiveTasksError(active)
		}
		return p.Archived(c.now()), nil
	})
}

// RestoreProduct undoes ArchiveProduct, for the children too that were archived by it. KindConflict when the Product is
// not archived.
func (c *Company) RestoreProduct(ctx context.Context, id string) (store.CountedProduct, error) {
	err := c.changeProduct(ctx, id, func(_ context.Context, _ *store.Tx, p company.Product) (company.Product, error) {
		if p.ArchivedAt == nil {
			return p, task.Conflictf("not_archived", "Nothing is to be done.", "Product is not archived")
		}
		return p.Restored(c.now()), nil
	})
	if err != nil {
		return store.CountedProduct{}, err
	}
	return c.DB.Product(ctx, id)
}

// errUnchanged ends a change that would write nothing.
var errUnchanged = errors.New("nothing to change")

// changeProduct reads a Product, lets change decide and writes the answer.
func (c *Company) changeProduct(ctx context.Context, id string, change func(context.Context, *store.Tx, company.Product) (company.Product, error)) error {
	err := c.DB.Transact(ctx, func(ctx context.Context, tx *store.Tx) error {
		before, err := tx.Product(ctx, id)
		if err != nil {
			return err
		}
		after, err := change(ctx, tx, before)
		if err != nil {
			return err
		}
		return tx.SaveProduct(ctx, &before, &after)
	})
	if errors.Is(err, errUnchanged) {
		return nil
	}
	return err
}

func ptr[T any](v T) *T { return &v }

// openParent refuses a child of a parent that is archived.
func openParent(productArchived, projectArchived bool) error {
	switch {
	case productArchived:
		return task.Conflictf("product_archived", "Restore the Product first.", "Product is missing or archived")
	case projectArchived:
		return task.Conflictf("project_archived", "Restore the Project first.", "Project is missing or archived")
	}
	return nil
}
