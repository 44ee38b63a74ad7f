package wire

import (
	"context"
	"net/http"
)

// CreateProduct makes a Product.
func (c *Client) CreateProduct(ctx context.Context, in ProductCreate) (Product, error) {
	return call[Product](ctx, c, http.MethodPost, "/company/products", in)
}

// Products lists Products.
func (c *Client) Products(ctx context.Context, l List) (Page[Product], error) {
	return call[Page[Product]](ctx, c, http.MethodGet, "/company/products"+l.query(), nil)
}

// CreateSource adds a Source to a Product.
func (c *Client) CreateSource(ctx context.Context, in SourceCreate) (SourceRecord, error) {
	return call[SourceRecord](ctx, c, http.MethodPost, "/company/sources", in)
}

// CreateProject proposes a Project.
func (c *Client) CreateProject(ctx context.Context, in ProjectCreate) (Project, error) {
	return call[Project](ctx, c, http.MethodPost, "/company/projects", in)
}

// Project reads a Project.
func (c *Client) Project(ctx context.Context, id string) (Project, error) {
	return call[Project](ctx, c, http.MethodGet, at("/company/projects/%s", id), nil)
}

// MoveProject makes a transition of a Project.
func (c *Client) MoveProject(ctx context.Context, id string, in ProjectTransition) (Project, error) {
	return call[Project](ctx, c, http.MethodPost, at("/company/projects/%s/transitions", id), in)
}
