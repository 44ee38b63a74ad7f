package store

import (
	"context"

	"companyos/shared/company"
	"companyos/shared/store/internal/pgq"
)

// Sources returns one page of Sources, newest first, and the number of all. An empty productID selects all Products.
func (db *DB) Sources(ctx context.Context, p Page, productID string) ([]company.Source, int64, error) {
	var filters []filter
	if productID != "" {
		filters = append(filters, filter{"product_id", productID})
	}
	rows, total, err := fetch[pgq.Source](ctx, db, sourceList, p, filters)
	if err != nil {
		return nil, 0, err
	}
	sources, err := convert(rows, decodeSource)
	return sources, total, err
}

// GitSources returns the unarchived git Sources of a Product, by id.
func (db *DB) GitSources(ctx context.Context, productID string) ([]company.Source, error) {
	rows, err := db.single().GitSources(ctx, productID)
	if err != nil {
		return nil, unavailable(err)
	}
	return convert(rows, decodeSource)
}

// GitSources is DB.GitSources inside the transaction.
func (tx *Tx) GitSources(ctx context.Context, productID string) ([]company.Source, error) {
	rows, err := tx.q.GitSources(ctx, productID)
	if err != nil {
		return nil, err
	}
	return convert(rows, decodeSource)
}

// Source reads a Source inside the transaction and whether its Product is archived. KindNotFound when there is none.
func (tx *Tx) Source(ctx context.Context, id string) (s company.Source, productArchived bool, err error) {
	row, err := tx.q.Source(ctx, id)
	if err != nil {
		return s, false, notFound(err, "Source")
	}
	s, err = decodeSource(row.Source)
	return s, row.ProductArchivedAt != nil, err
}

// InsertSource adds a Source.
func (tx *Tx) InsertSource(ctx context.Context, s *company.Source) error {
	return tx.q.InsertSource(ctx, pgq.InsertSourceParams{
		ID: s.ID, ProductID: s.ProductID, Type: string(s.Type), Reference: s.Reference, CredentialRef: s.CredentialRef,
		Config: s.Config, UserID: s.UserID, Revision: s.Revision, CreatedAt: s.CreatedAt, UpdatedAt: s.UpdatedAt, ArchivedAt: s.ArchivedAt,
	})
}

// SaveSourceArchive archives or restores a Source, ErrChanged when before is not what is stored.
func (tx *Tx) SaveSourceArchive(ctx context.Context, before, after *company.Source) error {
	return changed(tx.q.ArchiveSource(ctx, pgq.ArchiveSourceParams{
		ID: before.ID, Revision: before.Revision, UpdatedAt: after.UpdatedAt, ArchivedAt: after.ArchivedAt,
	}))
}

func decodeSource(r pgq.Source) (company.Source, error) {
	return company.Source{
		ID: r.ID, ProductID: r.ProductID, Type: company.SourceType(r.Type), Reference: r.Reference, CredentialRef: r.CredentialRef,
		Config: r.Config, UserID: r.UserID, Revision: r.Revision, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt, ArchivedAt: r.ArchivedAt,
	}, nil
}
