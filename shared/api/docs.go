package api

import (
	"context"
	_ "embed"
	"fmt"
	"html"
	"net/http"
	"strings"

	"companyos/shared/wire"
)

//go:embed docs.html
var docsPage string

func (s *server) openapi(_ context.Context, w http.ResponseWriter, r *request) (any, error) {
	write(w, r.Request, http.StatusOK, r.route.Type, wire.OpenAPI)
	return written{}, nil
}

// docs shows the table of routes. The page loads and runs nothing. It is written without a template: the template
// packages make the linker keep every method of every type, a third of the program that a function has to load.
func (s *server) docs(_ context.Context, w http.ResponseWriter, r *request) (any, error) {
	var rows strings.Builder
	for _, route := range wire.Routes {
		fmt.Fprintf(&rows, "<tr><td><code>%s</code><td><code>%s</code><td>%s<td>%s<td>",
			html.EscapeString(route.Method), html.EscapeString(route.Pattern), html.EscapeString(route.Does), html.EscapeString(string(route.Caller)))
		for _, scope := range route.Scopes {
			fmt.Fprintf(&rows, "<code>%s</code> ", html.EscapeString(scope))
		}
		rows.WriteString("</tr>\n")
	}
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
	write(w, r.Request, http.StatusOK, r.route.Type, []byte(strings.Replace(docsPage, "{{rows}}", rows.String(), 1)))
	return written{}, nil
}
