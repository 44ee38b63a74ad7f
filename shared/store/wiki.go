package store

import (
	"context"
	"time"

	"companyos/shared/store/internal/pgq"
)

// CompanyNamespace is the namespace of the Company's own pages; a Product's pages are under its id.
const CompanyNamespace = "company"

// WikiPage is one page of a playbook.
type WikiPage struct {
	Namespace string
	Path      string
	Version   int
	Content   string
	UserID    *string
	UpdatedAt time.Time
}

// WikiPages returns all pages of the Company and of one Product, the Company's first, by path.
func (db *DB) WikiPages(ctx context.Context, productID string) ([]WikiPage, error) {
	rows, err := db.read().WikiPages(ctx, productID)
	if err != nil {
		return nil, unavailable(err)
	}
	return convert(rows, func(r pgq.WikiPage) (WikiPage, error) {
		return WikiPage{r.Namespace, r.Path, int(r.Version), r.Content, r.UserID, r.UpdatedAt}, nil
	})
}

// InsertWikiPage adds a page in its first version unless there is one of that path.
func (tx *Tx) InsertWikiPage(ctx context.Context, p WikiPage) error {
	n, err := tx.q.InsertWikiPage(ctx, pgq.InsertWikiPageParams{
		Namespace: p.Namespace, Path: p.Path, SizeBytes: int32(len(p.Content)), Content: p.Content, UserID: p.UserID, UpdatedAt: p.UpdatedAt,
	})
	if err != nil || n == 0 {
		return err
	}
	return tx.q.InsertWikiVersion(ctx, pgq.InsertWikiVersionParams{
		Namespace: p.Namespace, Path: p.Path, Version: 1, Content: p.Content, UserID: p.UserID, CreatedAt: p.UpdatedAt,
	})
}
