package store

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"companyos/shared/company"
	"companyos/shared/store/internal/pgq"
	"companyos/shared/task"
)

// inputPages is the statement that reads the pages of the Company ($1) and of one Product, the Company's first, by path,
// until their contents reach a number of bytes ($2).
const inputPages = `SELECT namespace, path, version, size_bytes, content, user_id, updated_at FROM (
		SELECT w.*, SUM(size_bytes) OVER (ORDER BY (namespace <> 'company'), namespace, path) AS upto
		FROM wiki_pages w WHERE namespace = 'company' OR namespace = $1) pages
	WHERE upto - size_bytes <= $2 ORDER BY (namespace <> 'company'), path`

// InputPages returns the pages of the Company and of one Product, the Company's first, by path. It stops after the page
// with which their contents exceed a number of bytes.
func (db *DB) InputPages(ctx context.Context, productID string, most int) ([]company.Page, error) {
	rows, err := db.pool.Query(ctx, inputPages, productID, most)
	if err != nil {
		return nil, unavailable(err)
	}
	pages, err := collectPages(rows)
	return pages, unavailable(err)
}

func collectPages(r pgx.Rows) ([]company.Page, error) {
	rows, err := pgx.CollectRows(r, pgx.RowToStructByPos[pgq.WikiPage])
	if err != nil {
		return nil, err
	}
	return convert(rows, func(r pgq.WikiPage) (company.Page, error) { return decodePage(r), nil })
}

func decodePage(r pgq.WikiPage) company.Page {
	return company.Page{Content: r.Content, PageInfo: company.PageInfo{
		Namespace: r.Namespace, Path: r.Path, Version: int(r.Version), SizeBytes: int(r.SizeBytes), UserID: r.UserID, UpdatedAt: r.UpdatedAt,
	}}
}

// Wiki is the state of a namespace that every access looks at first.
type Wiki struct {
	Product  *company.Product // nil for the Company's own
	Defaults int              // how many of the default pages are there
	Total    int64            // how many pages are there, where it was asked for
}

const (
	wikiDefaults = "(SELECT count(*) FROM wiki_pages WHERE namespace = $1 AND path IN ('brief.md', 'status.md'))"
	wikiTotal    = "(SELECT count(*) FROM wiki_pages WHERE namespace = $1)"
	wikiProduct  = "id, name, purpose, user_id, metadata, cascades, revision, created_at, updated_at, archived_at"
)

// queueWiki adds the statement that reads a namespace's state; total is wikiTotal, or 0 where nobody asks.
func queueWiki(b *pgx.Batch, namespace, total string, into *Wiki) {
	if namespace == company.CompanyNamespace {
		b.Queue("SELECT "+wikiDefaults+", "+total, namespace).QueryRow(func(r pgx.Row) error { return r.Scan(&into.Defaults, &into.Total) })
		return
	}
	b.Queue("SELECT "+wikiProduct+", "+wikiDefaults+", "+total+" FROM products WHERE id = $1", namespace).QueryRow(func(r pgx.Row) error {
		var p pgq.Product
		err := r.Scan(&p.ID, &p.Name, &p.Purpose, &p.UserID, &p.Metadata, &p.Cascades, &p.Revision, &p.CreatedAt, &p.UpdatedAt, &p.ArchivedAt,
			&into.Defaults, &into.Total)
		if err != nil {
			return notFound(err, "Product")
		}
		product, err := decodeProduct(p)
		into.Product = &product
		return err
	})
}

// Wiki reads a namespace's state and one page of its list, by path. KindNotFound for an unknown Product.
func (db *DB) Wiki(ctx context.Context, namespace string, p Page) (w Wiki, pages []company.PageInfo, err error) {
	var b pgx.Batch
	queueWiki(&b, namespace, wikiTotal, &w)
	b.Queue(`SELECT namespace, path, version, size_bytes, user_id, updated_at FROM wiki_pages
		WHERE namespace = $1 ORDER BY path LIMIT $2 OFFSET $3`, namespace, p.Limit, p.skip()).Query(func(r pgx.Rows) (err error) {
		pages, err = pgx.CollectRows(r, pgx.RowToStructByPos[company.PageInfo])
		return err
	})
	return w, pages, unavailable(db.pool.SendBatch(ctx, &b).Close())
}

// WikiPage reads a namespace's state and a page of it, in one of its versions; 0 is the present one. The page is nil when
// there is none. KindNotFound for an unknown Product.
func (db *DB) WikiPage(ctx context.Context, namespace, path string, version int64) (w Wiki, page *company.Page, err error) {
	var b pgx.Batch
	queueWiki(&b, namespace, "0::bigint", &w)
	statement, args := `SELECT namespace, path, version, size_bytes, content, user_id, updated_at FROM wiki_pages
		WHERE namespace = $1 AND path = $2`, []any{namespace, path}
	if version > 0 {
		statement, args = `SELECT namespace, path, version, octet_length(content) AS size_bytes, content, user_id, created_at FROM wiki_versions
			WHERE namespace = $1 AND path = $2 AND version = $3`, append(args, version)
	}
	b.Queue(statement, args...).Query(func(r pgx.Rows) error {
		pages, err := collectPages(r)
		if err == nil && len(pages) > 0 {
			page = &pages[0]
		}
		return err
	})
	return w, page, unavailable(db.pool.SendBatch(ctx, &b).Close())
}

// WikiVersion is the number of a page's present version inside the transaction, 0 when there is no page.
func (tx *Tx) WikiVersion(ctx context.Context, namespace, path string) (int, error) {
	version, err := tx.q.WikiVersion(ctx, pgq.WikiVersionParams{Namespace: namespace, Path: path})
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, nil
	}
	return int(version), err
}

// InsertWikiPage adds a page in its first version; false when there is one of that path.
func (tx *Tx) InsertWikiPage(ctx context.Context, p company.Page) (added bool, err error) {
	n, err := tx.q.InsertWikiPage(ctx, pgq.InsertWikiPageParams{
		Namespace: p.Namespace, Path: p.Path, SizeBytes: int32(len(p.Content)), Content: p.Content, UserID: p.UserID, UpdatedAt: p.UpdatedAt,
	})
	if err != nil || n == 0 {
		return false, err
	}
	return true, tx.insertVersion(ctx, p, 1)
}

// SaveWikiPage writes the version after p.Version, ErrChanged when that is not the present one.
func (tx *Tx) SaveWikiPage(ctx context.Context, p company.Page) error {
	n, err := tx.q.UpdateWikiPage(ctx, pgq.UpdateWikiPageParams{
		Namespace: p.Namespace, Path: p.Path, Version: int32(p.Version), SizeBytes: int32(len(p.Content)), Content: p.Content,
		UserID: p.UserID, UpdatedAt: p.UpdatedAt,
	})
	if err := changed(n, err); err != nil {
		return err
	}
	return tx.insertVersion(ctx, p, p.Version+1)
}

func (tx *Tx) insertVersion(ctx context.Context, p company.Page, version int) error {
	return tx.q.InsertWikiVersion(ctx, pgq.InsertWikiVersionParams{
		Namespace: p.Namespace, Path: p.Path, Version: int32(version), Content: p.Content, UserID: p.UserID, CreatedAt: p.UpdatedAt,
	})
}

// WikiNamespace reads inside the transaction what a namespace belongs to: nil for the Company's own. KindNotFound for a
// Product that is missing or archived.
func (tx *Tx) WikiNamespace(ctx context.Context, namespace string) (*company.Product, error) {
	if namespace == company.CompanyNamespace {
		return nil, nil
	}
	p, err := tx.Product(ctx, namespace)
	if err == nil && p.ArchivedAt != nil {
		err = task.NotFound("Product")
	}
	return &p, err
}

// AddDefaultPages completes a namespace: it adds the default pages that are missing.
func (tx *Tx) AddDefaultPages(ctx context.Context, p *company.Product, now time.Time) error {
	for _, page := range company.DefaultPages(p, now) {
		if _, err := tx.InsertWikiPage(ctx, page); err != nil {
			return err
		}
	}
	return nil
}
