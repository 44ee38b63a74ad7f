package app

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"

	"companyos/shared/company"
	"companyos/shared/store"
	"companyos/shared/task"
)

// SetupProductID is the id of the Product that a setup makes.
const SetupProductID = "company-setup"

// SetupInput is what a new deployment begins with.
type SetupInput struct {
	Name     string
	Purpose  *string
	Metadata map[string]json.RawMessage
	Sources  []DeclaredSource

	// AddRoutines adds the declared Routines that are missing; nil for none.
	AddRoutines func(ctx context.Context, productID string) error
}

// DeclaredSource is a Source of a declaration. Without an id it gets one from what it refers to, so that declaring it
// twice adds it once.
type DeclaredSource struct {
	ID string
	company.NewSource
}

// SetUp is the Product of a setup.
type SetUp struct {
	company.Product
	Created bool // by this setup
}

// Setup makes the first Product of a deployment, with its Sources and Routines. Where it is there already the missing
// Sources and Routines are added and nothing else is touched; an archived one stays as it is. KindConflict when the
// deployment has other Products, KindInvalid for a broken rule.
func (c *Company) Setup(ctx context.Context, by task.Caller, in SetupInput) (SetUp, error) {
	metadata, err := company.NewMetadata(in.Metadata, nil)
	if err != nil {
		return SetUp{}, err
	}
	sources := make([]company.Source, len(in.Sources))
	for i, d := range in.Sources {
		d.ProductID = SetupProductID
		if sources[i], err = c.newSource(by, d.NewSource); err != nil {
			return SetUp{}, err
		}
		sources[i].ID = d.ID
		if d.ID == "" {
			sources[i].ID = uuid.NewSHA1(uuid.NameSpaceURL, []byte(SetupProductID+":"+string(d.Type)+":"+d.Reference)).String()
		}
	}
	first := company.Product{ID: SetupProductID, Name: in.Name, Purpose: in.Purpose, UserID: &by.ID, Metadata: metadata, CreatedAt: c.now()}
	var out SetUp
	err = c.DB.Transact(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		if out, err = setupProduct(ctx, tx, first); err != nil || out.ArchivedAt != nil {
			return err
		}
		return addSources(ctx, tx, sources)
	})
	if err == nil && in.AddRoutines != nil && out.ArchivedAt == nil {
		err = in.AddRoutines(ctx, SetupProductID)
	}
	if err != nil {
		return SetUp{}, err
	}
	return out, c.keepAnswer(ctx, by, out)
}

// setupProduct returns the setup's Product, which it adds to a deployment without any.
func setupProduct(ctx context.Context, tx *store.Tx, first company.Product) (SetUp, error) {
	present, err := tx.Product(ctx, SetupProductID)
	if err == nil {
		return SetUp{Product: present}, nil
	}
	if task.KindOf(err) != task.KindNotFound {
		return SetUp{}, err
	}
	others, err := tx.HasProducts(ctx)
	if err != nil {
		return SetUp{}, err
	}
	if others {
		return SetUp{}, task.Conflictf("setup_too_late", "Make a Product with POST /company/products.",
			"Company setup requires a deployment without Products")
	}
	return SetUp{Product: first, Created: true}, tx.InsertProduct(ctx, &first)
}

// addSources adds those that are not there, whoever changed or archived the others since.
func addSources(ctx context.Context, tx *store.Tx, sources []company.Source) error {
	for i := range sources {
		_, _, err := tx.Source(ctx, sources[i].ID)
		if err == nil {
			continue
		}
		if task.KindOf(err) != task.KindNotFound {
			return err
		}
		if err := tx.InsertSource(ctx, &sources[i]); err != nil {
			return err
		}
	}
	return nil
}
