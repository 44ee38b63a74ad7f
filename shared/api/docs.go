package api

import (
	"bytes"
	"context"
	_ "embed"
	"html/template"
	"net/http"

	"companyos/shared/wire"
)

//go:embed docs.html
var docsPage string

func (s *server) openapi(_ context.Context, w http.ResponseWriter, r *request) (any, error) {
	write(w, r.Request, http.StatusOK, r.route.Type, wire.OpenAPI)
	return written{}, nil
}

// docs shows the table of routes. The page loads and runs nothing.
func (s *server) docs(_ context.Context, w http.ResponseWriter, r *request) (any, error) {
	page, err := template.New("docs").Parse(docsPage)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := page.Execute(&b, wire.Routes); err != nil {
		return nil, err
	}
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
	write(w, r.Request, http.StatusOK, r.route.Type, b.Bytes())
	return written{}, nil
}
