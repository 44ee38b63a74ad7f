package api

import (
	"context"
	"net/http"
	"strings"

	"companyos/shared/app"
	"companyos/shared/company"
	"companyos/shared/store"
	"companyos/shared/wire"
)

// namespace is the wiki that a request is about: a Product's where the route names one.
func namespace(r *request) string {
	if !strings.HasPrefix(r.route.Name, "product_") {
		return company.CompanyNamespace
	}
	id := r.PathValue("product_id")
	if id == company.CompanyNamespace {
		return "" // which no Product has
	}
	return id
}

func (s *server) listPages(ctx context.Context, _ http.ResponseWriter, r *request) (any, error) {
	rows, total, err := s.Company.WikiPages(ctx, namespace(r), store.Page{Limit: r.query.Limit, Number: r.query.Page})
	if err != nil {
		return nil, err
	}
	return wire.NewPage(rows, total, r.query, wire.NewWikiPage), nil
}

func (s *server) readPage(ctx context.Context, _ http.ResponseWriter, r *request) (any, error) {
	p, err := s.Company.WikiPage(ctx, namespace(r), r.PathValue("path"), r.query.Version)
	return wire.WikiRead{Content: p.Content, Metadata: wire.NewWikiPage(p.PageInfo)}, err
}

func (s *server) writePage(ctx context.Context, r *request, in wire.WikiWrite) (any, error) {
	p, err := s.Company.WritePage(ctx, r.caller, app.PageWrite{
		Namespace: namespace(r), Path: r.PathValue("path"), Content: in.Content, ExpectedVersion: in.ExpectedVersion,
	})
	return wire.NewWikiPage(p), err
}
