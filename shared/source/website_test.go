package source_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"companyos/shared/company"
	"companyos/shared/source"
	"companyos/shared/task"
)

const publicIP = "93.184.216.34"

// site is a website on this machine that the reader takes for https://example.com on a public address.
type site struct {
	reader *source.Reader
	mux    *http.ServeMux
	dialed []string
	asked  atomic.Int64 // times that the name was resolved
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{mux: http.NewServeMux()}
	server := httptest.NewUnstartedServer(s.mux)
	server.Config.ErrorLog = nil
	server.StartTLS()
	t.Cleanup(server.Close)
	certificates := x509.NewCertPool()
	certificates.AddCert(server.Certificate())
	s.reader = &source.Reader{
		Certificates: certificates,
		Resolve: func(context.Context, string) ([]netip.Addr, error) {
			s.asked.Add(1)
			return []netip.Addr{netip.MustParseAddr(publicIP)}, nil
		},
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			s.dialed = append(s.dialed, address)
			return new(net.Dialer).DialContext(ctx, network, server.Listener.Addr().String())
		},
		Limits: source.Limits{Page: 5 * time.Second},
	}
	return s
}

func (s *site) page(path, contentType, body string) {
	s.mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		fmt.Fprint(w, body)
	})
}

func website(reference string, paths ...string) company.Source {
	s := company.Source{Type: company.SourceWebsite, Reference: reference}
	if paths != nil {
		s.Config, _ = json.Marshal(map[string]any{"paths": paths})
	}
	return s
}

func text(items []company.Document) string {
	var b strings.Builder
	for _, i := range items {
		fmt.Fprintf(&b, "%s %s %q\n", i.Path, i.Link, i.Content)
	}
	return b.String()
}

func TestWebsite(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.page("/docs", "text/html; charset=iso-8859-1", "<html><head><title>no</title><script>no()</script></head><body><h1>Gr\xf6\xdfe</h1><p>a <b>b</b> &amp; c<div>d<style>no</style></div><!-- no --><svg><text>no</text></svg></body>")
	s.page("/docs/a.md", "text/markdown", "# A\n")
	s.page("/docs/image", "image/png", "\x89PNG")
	s.page("/docs/nul", "text/plain", "a\x00b")
	s.page("/docs/big", "text/plain", strings.Repeat("x", 257<<10))
	s.mux.HandleFunc("/docs/moved", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/docs/a.md", http.StatusFound)
	})
	items, err := s.reader.Read(t.Context(), website("http://example.com/docs"))
	if want := "docs https://example.com/docs \"Größe\\na b & c\\nd\\n\"\n"; err != nil || text(items) != want {
		t.Errorf("got %v %s, want %s", err, text(items), want)
	}
	if len(s.dialed) != 1 || s.dialed[0] != publicIP+":443" {
		t.Errorf("dialed %v: a website is read over https and at the address that was checked", s.dialed)
	}
	items, err = s.reader.Read(t.Context(), website("https://example.com:443/docs", "a.md", "none", "image", "nul", "big", "moved"))
	want := "docs/a.md https://example.com/docs/a.md \"# A\\n\"\ndocs/moved https://example.com/docs/moved \"# A\\n\"\n"
	if err != nil || text(items) != want {
		t.Errorf("got %v %s, want %s", err, text(items), want)
	}
	if got := fmt.Sprint(items[0].SkippedPaths); got != "[docs/none docs/image docs/nul docs/big]" {
		t.Errorf("skipped %s", got)
	}
}

// TestWebsiteRefusals: what must not be read, and what must not be waited for.
func TestWebsiteRefusals(t *testing.T) {
	t.Parallel()
	const moved, private = "The website redirects to another place; use the URL that it redirects to", "Website Sources cannot read private network addresses"
	s := newSite(t)
	redirect := func(path, to string) {
		s.mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusFound)
		})
	}
	redirect("/other", "https://example.org/x")
	redirect("/plain", "http://example.com/x")
	redirect("/port", "https://example.com:8443/x")
	redirect("/inside", "https://127.0.0.1/x")
	redirect("/metadata", "http://169.254.169.254/latest/meta-data/")
	redirect("/loop", "/loop")
	redirect("/file", "file:///etc/passwd")
	s.page("/empty", "", "")
	s.page("/pdf", "application/pdf", "%PDF")
	s.mux.HandleFunc("/drip", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		for r.Context().Err() == nil {
			fmt.Fprint(w, "x")
			_ = http.NewResponseController(w).Flush()
			time.Sleep(20 * time.Millisecond)
		}
	})
	s.mux.HandleFunc("/silent", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	s.mux.HandleFunc("/headers", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X", strings.Repeat("x", 128<<10)) })
	s.mux.HandleFunc("/error", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	for range 200 {
		_, _ = z.Write(make([]byte, 1<<20))
	}
	_ = z.Close()
	s.mux.HandleFunc("/bomb", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(bomb.Bytes())
	})
	for path, c := range map[string]struct {
		kind task.Kind
		want string
	}{
		"/other":    {task.KindInvalid, moved},
		"/plain":    {task.KindInvalid, moved},
		"/port":     {task.KindInvalid, moved},
		"/inside":   {task.KindInvalid, moved},
		"/metadata": {task.KindInvalid, moved},
		"/file":     {task.KindInvalid, moved},
		"/loop":     {task.KindInvalid, moved},
		"/none":     {task.KindInvalid, "The page is not there, is larger than is read, or is no text"},
		"/empty":    {task.KindInvalid, "The page is not there, is larger than is read, or is no text"},
		"/pdf":      {task.KindInvalid, "The page is not there, is larger than is read, or is no text"},
		"/bomb":     {task.KindInvalid, "The page is not there, is larger than is read, or is no text"},
		"/drip":     {task.KindUnavailable, "The website did not answer in time"},
		"/silent":   {task.KindUnavailable, "The website did not answer in time"},
		"/headers":  {task.KindUnavailable, "The website cannot be read now"},
		"/error":    {task.KindUnavailable, "The website cannot be read now"},
	} {
		reader := *s.reader
		reader.Limits.Page = 400 * time.Millisecond
		if path != "/drip" && path != "/silent" {
			reader.Limits.Page = 10 * time.Second
		}
		began := time.Now()
		items, err := reader.Read(t.Context(), website("https://example.com"+path))
		known, ok := errors.AsType[*task.Error](err)
		if !ok || known.Kind != c.kind || known.Detail != c.want {
			t.Errorf("%s: %v %s, want %s", path, err, text(items), c.want)
		}
		if took := time.Since(began); took > 8*time.Second {
			t.Errorf("%s took %v", path, took)
		}
	}
	for _, reference := range []string{
		"https://127.0.0.1/", "https://[::1]/", "https://[::ffff:10.0.0.1]/", "https://169.254.169.254/", "https://0/", "https://2130706433/",
		"https://0x7f000001/", "https://localhost/", "https://db.internal/", "https://[fd00:ec2::254]/", "https://100.64.0.1/",
	} {
		before := len(s.dialed)
		if _, err := s.reader.Read(t.Context(), website(reference)); err == nil || err.Error() != private || len(s.dialed) != before {
			t.Errorf("%s: %v, dialed %v", reference, err, s.dialed[before:])
		}
	}
	for _, reference := range []string{"ftp://example.com/", "https://example.com:8443/", "https://user@example.com/", "file:///etc/passwd", "https://"} {
		if _, err := s.reader.Read(t.Context(), website(reference)); task.KindOf(err) != task.KindInvalid {
			t.Errorf("%s: %v", reference, err)
		}
	}
	for _, path := range []string{"../../x", "/etc", `a\b`} {
		if _, err := s.reader.Read(t.Context(), website("https://example.com/docs", path)); task.KindOf(err) != task.KindInvalid {
			t.Errorf("path %s: %v", path, err)
		}
	}
}

// TestWebsiteNames: what a name resolves to decides, every address of it, and only at the moment of the dial.
func TestWebsiteNames(t *testing.T) {
	t.Parallel()
	for name, addresses := range map[string][]string{
		"private":         {"10.0.0.1"},
		"one of two":      {publicIP, "127.0.0.1"},
		"mapped":          {"::ffff:192.168.0.1"},
		"link-local":      {"fe80::1"},
		"unique local":    {"fd00::1"},
		"metadata":        {"169.254.169.254"},
		"NAT64":           {"64:ff9b::a00:1"},
		"6to4":            {"2002:0a00:0001::1"},
		"shared":          {"100.64.0.1"},
		"documentation":   {"203.0.113.1"},
		"multicast":       {"224.0.0.1"},
		"unspecified":     {"0.0.0.0"},
		"broadcast":       {"255.255.255.255"},
		"private and two": {"10.1.1.1", publicIP},
	} {
		s := newSite(t)
		s.page("/", "text/plain", "secret")
		s.reader.Resolve = func(context.Context, string) (out []netip.Addr, err error) {
			for _, a := range addresses {
				out = append(out, netip.MustParseAddr(a))
			}
			return out, nil
		}
		_, err := s.reader.Read(t.Context(), website("https://example.com/"))
		if err == nil || err.Error() != "Website Sources cannot read private network addresses" || len(s.dialed) > 0 {
			t.Errorf("%s: %v, dialed %v", name, err, s.dialed)
		}
	}
	// The name is public when it is checked and private at every later question.
	s := newSite(t)
	s.page("/", "text/plain", "fine")
	s.reader.Resolve = func(context.Context, string) ([]netip.Addr, error) {
		if s.asked.Add(1) == 1 {
			return []netip.Addr{netip.MustParseAddr(publicIP)}, nil
		}
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	}
	if _, err := s.reader.Read(t.Context(), website("https://example.com/")); err != nil || s.asked.Load() != 1 || s.dialed[0] != publicIP+":443" {
		t.Errorf("rebinding: %v, asked %d times, dialed %v", err, s.asked.Load(), s.dialed)
	}
	// And the other way round on the redirect to itself, over a connection of its own.
	s = newSite(t)
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close")
		http.Redirect(w, r, "/again", http.StatusFound)
	})
	s.reader.Resolve = func(context.Context, string) ([]netip.Addr, error) {
		if s.asked.Add(1) == 1 {
			return []netip.Addr{netip.MustParseAddr(publicIP)}, nil
		}
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	}
	_, err := s.reader.Read(t.Context(), website("https://example.com/"))
	if err == nil || err.Error() != "Website Sources cannot read private network addresses" || len(s.dialed) != 1 {
		t.Errorf("rebinding at a redirect: %v, dialed %v", err, s.dialed)
	}
}

// TestWebsiteByDefault: without doubles this machine's own addresses are refused and no proxy is used.
func TestWebsiteByDefault(t *testing.T) {
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:9")
	t.Setenv("https_proxy", "http://127.0.0.1:9")
	r := &source.Reader{Resolve: func(context.Context, string) ([]netip.Addr, error) {
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	}}
	if _, err := r.Read(t.Context(), website("https://example.com/")); err == nil || err.Error() != "Website Sources cannot read private network addresses" {
		t.Errorf("got %v", err)
	}
}
