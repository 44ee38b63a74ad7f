package api

import (
	"net/http"
	"net/url"
	"strings"
)

// The mux answers "//", "/./" and "/../" with a redirect and takes "%2F" for a slash only inside {path...}. The contract
// knows no redirect: one slash at the end of a collection is as if absent, and a page's path means what was sent, odd
// segments included, so that the page's own rules refuse it.

// normalise returns the request with a path that the mux takes as it is; false for a path that no route can have.
func normalise(r *http.Request) (*http.Request, bool) {
	escaped := r.URL.EscapedPath()
	if prefix, rest, ok := wikiPage(escaped); ok && rest != "" {
		return withPath(r, prefix+hide(rest))
	}
	if len(escaped) > 1 {
		escaped = strings.TrimSuffix(escaped, "/")
	}
	for segment := range strings.SplitSeq(strings.TrimPrefix(escaped, "/"), "/") {
		if (segment == "" && escaped != "/") || segment == "." || segment == ".." {
			return r, false
		}
	}
	return withPath(r, escaped)
}

// withPath keeps the request's escapes: the mux matches on them and unescapes what it matched.
func withPath(r *http.Request, escaped string) (*http.Request, bool) {
	if escaped == r.URL.EscapedPath() {
		return r, true
	}
	path, err := url.PathUnescape(escaped)
	if err != nil {
		return r, false
	}
	u := *r.URL
	u.Path, u.RawPath = path, escaped
	routed := r.Clone(r.Context())
	routed.URL = &u
	return routed, true
}

// wikiPage splits the path of a page: /company/wiki/… and /company/products/{id}/wiki/….
func wikiPage(escaped string) (prefix, rest string, ok bool) {
	const company, products, wiki = "/company/wiki/", "/company/products/", "/wiki/"
	if rest, ok := strings.CutPrefix(escaped, company); ok {
		return company, rest, true
	}
	after, ok := strings.CutPrefix(escaped, products)
	if !ok {
		return "", "", false
	}
	id, rest, ok := strings.Cut(after, "/")
	if !ok || id == "" || id == "." || id == ".." {
		return "", "", false
	}
	if rest, ok = strings.CutPrefix("/"+rest, wiki); !ok {
		return "", "", false
	}
	return products + id + wiki, rest, true
}

// hide escapes slashes and dots, so that a page's path is one segment that the mux does not clean.
func hide(rest string) string {
	return strings.NewReplacer("/", "%2F", ".", "%2E").Replace(rest)
}
