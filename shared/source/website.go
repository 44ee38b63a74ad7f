package source

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"companyos/shared/company"
	"companyos/shared/publicnet"
	"companyos/shared/task"
)

const (
	maxRedirects = 3
	maxHeader    = 64 << 10
	pageFactor   = 4 // a page may be so many times an item before its text is taken out
)

// errPrivate is the contract's refusal of an address that is not of the public internet.
func errPrivate() error { return unreadable("Website Sources cannot read private network addresses") }

// website reads a page, or the pages that the config names below it. It speaks https alone, also where the Source says
// http: nothing is read that somebody on the way could have changed.
func (r *Reader) website(ctx context.Context, s company.Source, config config, c *collection) error {
	if broken := (company.NewSource{Type: s.Type, Reference: s.Reference}).Broken(nil); broken != "" {
		return unreadable("%s", broken)
	}
	base, err := url.Parse(s.Reference)
	if err != nil {
		return unreadable("Website sources require an HTTP or HTTPS URL")
	}
	base.Scheme, base.Host = "https", hostOnly(base)
	pages := []*url.URL{base}
	if len(config.Paths) > 0 {
		pages = pages[:0]
		for _, p := range config.Paths {
			pages = append(pages, base.JoinPath(p))
		}
	}
	client := r.client()
	defer client.CloseIdleConnections()
	for _, page := range pages {
		at := strings.TrimPrefix(page.EscapedPath(), "/")
		if len(c.items) >= c.limits.Items || c.bytes >= c.limits.Total {
			c.skip(at)
			continue
		}
		content, err := fetchPage(ctx, client, page, c.limits)
		if errors.Is(err, errNoText) && len(pages) > 1 {
			c.skip(at)
			continue
		}
		if err != nil {
			return explainPage(err)
		}
		c.add(at, page.String(), content)
	}
	return nil
}

// hostOnly is a URL's host without a port: https has one.
func hostOnly(u *url.URL) string {
	if strings.Contains(u.Hostname(), ":") {
		return "[" + u.Hostname() + "]"
	}
	return u.Hostname()
}

// client follows a redirect to the same host alone, and reaches nothing but public addresses.
func (r *Reader) client() *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			Proxy: nil, DialContext: r.dialPublic, TLSHandshakeTimeout: 10 * time.Second, MaxResponseHeaderBytes: maxHeader,
			TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: r.Certificates},
		},
		CheckRedirect: func(to *http.Request, via []*http.Request) error {
			from := via[0].URL
			if to.URL.Scheme != "https" || !strings.EqualFold(to.URL.Hostname(), from.Hostname()) || (to.URL.Port() != "" && to.URL.Port() != "443") {
				return errRedirect
			}
			if len(via) > maxRedirects {
				return errRedirects
			}
			return nil
		},
	}
}

var (
	errRedirect  = errors.New("the website redirects to another place")
	errRedirects = errors.New("the website redirects again and again")
	errNoText    = errors.New("the page is not there, too large or no text")
)

// dialPublic connects to what is public, at https's port.
func (r *Reader) dialPublic(ctx context.Context, network, address string) (net.Conn, error) {
	if _, port, err := net.SplitHostPort(address); err != nil || port != "443" {
		return nil, errPrivate()
	}
	conn, err := publicnet.Dialer{Resolve: r.Resolve, Dial: r.Dial}.DialContext(ctx, network, address)
	if errors.Is(err, publicnet.ErrPrivate) {
		return nil, errPrivate()
	}
	return conn, err
}

// fetchPage reads the text of one page.
func fetchPage(ctx context.Context, client *http.Client, page *url.URL, limits Limits) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, limits.Page)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, page.String(), http.NoBody)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", "company-source")
	req.Header.Set("Accept", "text/html, text/markdown, text/plain;q=0.9, */*;q=0.1")
	res, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	kind, _, err := mime.ParseMediaType(res.Header.Get("Content-Type"))
	switch {
	case res.StatusCode == http.StatusNotFound || res.StatusCode == http.StatusGone:
		return nil, errNoText
	case res.StatusCode != http.StatusOK:
		return nil, errors.New("the website answers " + res.Status)
	case err != nil || !isText(kind):
		return nil, errNoText
	}
	// The transport unpacks gzip as it is read, so a bomb goes off no further than this.
	most := pageFactor * limits.Item
	raw, err := io.ReadAll(io.LimitReader(res.Body, most+1))
	if err != nil {
		return nil, err
	}
	if int64(len(raw)) > most {
		return nil, errNoText
	}
	return textOf(raw, res.Header.Get("Content-Type"), kind == "text/html" || kind == "application/xhtml+xml")
}

func isText(kind string) bool {
	return strings.HasPrefix(kind, "text/") || kind == "application/xhtml+xml" || kind == "application/json"
}

// explainPage tells people what kept a website from being read.
func explainPage(err error) error {
	if known, ok := errors.AsType[*task.Error](err); ok {
		return known
	}
	switch {
	case errors.Is(err, errRedirect), errors.Is(err, errRedirects):
		return unreadable("The website redirects to another place; use the URL that it redirects to")
	case errors.Is(err, errNoText):
		return unreadable("The page is not there, is larger than is read, or is no text")
	case errors.Is(err, context.DeadlineExceeded):
		return notNow("The website did not answer in time", err)
	}
	return notNow("The website cannot be read now", err)
}
