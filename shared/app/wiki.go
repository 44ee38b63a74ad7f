package app

import (
	"context"

	"companyos/shared/company"
	"companyos/shared/store"
	"companyos/shared/task"
)

// WikiPages returns one page of a namespace's list, by path, and the number of all. A namespace is company.CompanyNamespace
// or a Product's id. KindNotFound for a Product that is missing or archived.
func (c *Company) WikiPages(ctx context.Context, namespace string, page store.Page) (pages []company.PageInfo, total int64, err error) {
	err = c.inWiki(ctx, namespace, func() (w store.Wiki, err error) {
		w, pages, err = c.DB.Wiki(ctx, namespace, page)
		total = w.Total
		return w, err
	})
	return pages, total, err
}

// WikiPage returns a page in one of its versions; 0 is the present one. KindNotFound for a page or a version that is not
// there and for a Product that is missing or archived, KindInvalid for a path that no page can have.
func (c *Company) WikiPage(ctx context.Context, namespace, path string, version int64) (company.Page, error) {
	readable := company.CheckPagePath(path) == nil
	at := path
	if !readable {
		at = "" // which no page has: the database may not even take the path
	}
	var page *company.Page
	err := c.inWiki(ctx, namespace, func() (w store.Wiki, err error) {
		w, page, err = c.DB.WikiPage(ctx, namespace, at, version)
		return w, err
	})
	switch {
	case err != nil:
		return company.Page{}, err
	case !readable:
		return company.Page{}, company.CheckPagePath(path)
	case page == nil:
		return company.Page{}, &task.Error{
			Kind: task.KindNotFound, Code: "not_found", Detail: "Wiki page not found", Remedy: "List the pages; every version of a page is kept from 1 on.",
		}
	}
	return *page, nil
}

// inWiki reads, and reads again after it added the default pages of a namespace that lacks one.
func (c *Company) inWiki(ctx context.Context, namespace string, read func() (store.Wiki, error)) error {
	w, err := read()
	if err != nil {
		return err
	}
	if w.Product != nil && w.Product.ArchivedAt != nil {
		return task.NotFound("Product")
	}
	if w.Defaults == len(company.DefaultPages(w.Product, c.now())) {
		return nil
	}
	err = c.DB.Transact(ctx, func(ctx context.Context, tx *store.Tx) error {
		product, err := tx.WikiNamespace(ctx, namespace)
		if err != nil {
			return err
		}
		return tx.AddDefaultPages(ctx, product, c.now())
	})
	if err != nil {
		return err
	}
	_, err = read()
	return err
}

// PageWrite is a new version of a page. ExpectedVersion is the version that the writer read, 0 for a new page.
type PageWrite struct {
	Namespace       string
	Path            string
	Content         string
	ExpectedVersion int64
}

// WritePage writes a version of a page; the versions before it are kept. KindNotFound for a Product that is missing or
// archived, KindInvalid for a path or a size that no page can have, KindConflict when the page is not as it was read.
func (c *Company) WritePage(ctx context.Context, by task.Caller, in PageWrite) (company.PageInfo, error) {
	p := company.Page{Content: in.Content, PageInfo: company.PageInfo{
		Namespace: in.Namespace, Path: in.Path, Version: 1, SizeBytes: len(in.Content), UserID: nonEmpty(by.ID), UpdatedAt: c.now(),
	}}
	err := c.DB.Transact(ctx, func(ctx context.Context, tx *store.Tx) error {
		product, err := tx.WikiNamespace(ctx, in.Namespace)
		if err != nil {
			return err
		}
		if err := company.CheckPagePath(in.Path); err != nil {
			return err
		}
		if err := company.CheckPageSize(in.Path, in.Content); err != nil {
			return err
		}
		actual, err := tx.WikiVersion(ctx, in.Namespace, in.Path)
		if err == nil && actual == 0 {
			// The first access of a namespace may be a write, of one of its default pages even.
			if err = tx.AddDefaultPages(ctx, product, p.UpdatedAt); err == nil {
				actual, err = tx.WikiVersion(ctx, in.Namespace, in.Path)
			}
		}
		switch {
		case err != nil:
			return err
		case in.ExpectedVersion == 0 && actual > 0:
			return company.PageExistsError(in.Path)
		case in.ExpectedVersion != int64(actual):
			return company.PageChangedError(in.Path, in.ExpectedVersion, actual)
		case actual == 0:
			_, err := tx.InsertWikiPage(ctx, p)
			return err
		}
		p.Version = actual
		if err := tx.SaveWikiPage(ctx, p); err != nil {
			return err
		}
		p.Version++
		return nil
	})
	return p.PageInfo, err
}
