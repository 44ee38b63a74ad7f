package wire

import (
	"context"
	"net/http"
)

// CreateProduct makes a Product.
func (c *Client) CreateProduct(ctx context.Context, in ProductCreate) (Product, error) {
	return call[Product](ctx, c, http.MethodPost, "/company/products", in)
}

// Product reads a Product.
func (c *Client) Product(ctx context.Context, id string) (Product, error) {
	return call[Product](ctx, c, http.MethodGet, at("/company/products/%s", id), nil)
}

// Products lists Products.
func (c *Client) Products(ctx context.Context, l List) (Page[Product], error) {
	return call[Page[Product]](ctx, c, http.MethodGet, "/company/products"+l.query(), nil)
}

// UpdateProduct changes a Product.
func (c *Client) UpdateProduct(ctx context.Context, id string, in ProductUpdate) (Product, error) {
	return call[Product](ctx, c, http.MethodPatch, at("/company/products/%s", id), in)
}

// ArchiveProduct archives a Product with all that is in it.
func (c *Client) ArchiveProduct(ctx context.Context, id string) error {
	_, err := call[struct{}](ctx, c, http.MethodDelete, at("/company/products/%s", id), nil)
	return err
}

// RestoreProduct undoes ArchiveProduct.
func (c *Client) RestoreProduct(ctx context.Context, id string) (Product, error) {
	return call[Product](ctx, c, http.MethodPost, at("/company/products/%s/restore", id), nil)
}

// CreateSource adds a Source to a Product.
func (c *Client) CreateSource(ctx context.Context, in SourceCreate) (SourceRecord, error) {
	return call[SourceRecord](ctx, c, http.MethodPost, "/company/sources", in)
}

// Sources lists Sources.
func (c *Client) Sources(ctx context.Context, l List) (Page[SourceRecord], error) {
	return call[Page[SourceRecord]](ctx, c, http.MethodGet, "/company/sources"+l.query(), nil)
}

// ArchiveSource archives a Source.
func (c *Client) ArchiveSource(ctx context.Context, id string) error {
	_, err := call[struct{}](ctx, c, http.MethodDelete, at("/company/sources/%s", id), nil)
	return err
}

// RestoreSource undoes ArchiveSource.
func (c *Client) RestoreSource(ctx context.Context, id string) (SourceRecord, error) {
	return call[SourceRecord](ctx, c, http.MethodPost, at("/company/sources/%s/restore", id), nil)
}

// CreateProject proposes a Project.
func (c *Client) CreateProject(ctx context.Context, in ProjectCreate) (Project, error) {
	return call[Project](ctx, c, http.MethodPost, "/company/projects", in)
}

// Project reads a Project.
func (c *Client) Project(ctx context.Context, id string) (Project, error) {
	return call[Project](ctx, c, http.MethodGet, at("/company/projects/%s", id), nil)
}

// Projects lists Projects.
func (c *Client) Projects(ctx context.Context, l List) (Page[Project], error) {
	return call[Page[Project]](ctx, c, http.MethodGet, "/company/projects"+l.query(), nil)
}

// UpdateProject changes a Project.
func (c *Client) UpdateProject(ctx context.Context, id string, in ProjectUpdate) (Project, error) {
	return call[Project](ctx, c, http.MethodPatch, at("/company/projects/%s", id), in)
}

// MoveProject makes a transition of a Project.
func (c *Client) MoveProject(ctx context.Context, id string, in ProjectTransition) (Project, error) {
	return call[Project](ctx, c, http.MethodPost, at("/company/projects/%s/transitions", id), in)
}

// ArchiveProject archives a Project with its Tasks.
func (c *Client) ArchiveProject(ctx context.Context, id string) error {
	_, err := call[struct{}](ctx, c, http.MethodDelete, at("/company/projects/%s", id), nil)
	return err
}

// RestoreProject undoes ArchiveProject.
func (c *Client) RestoreProject(ctx context.Context, id string) (Project, error) {
	return call[Project](ctx, c, http.MethodPost, at("/company/projects/%s/restore", id), nil)
}
