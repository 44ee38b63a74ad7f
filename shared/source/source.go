// Package source reads what a Product's Sources hold: Markdown files and git repositories of an operator's folder, git
// repositories of a host, pages of a website. It reads little, for a bounded time, and from nowhere but where the Source
// points to.
package source

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"net"
	"net/netip"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"companyos/shared/company"
	"companyos/shared/executor"
	"companyos/shared/task"
)

// Reader reads Sources. The zero value reads public repositories and websites.
type Reader struct {
	Root     string                                              // the operator's folder of local Sources; empty: none can be read
	GitHosts []string                                            // URL prefixes that repositories may have beside GitHub
	Token    func(ctx context.Context) (token string, err error) // GITHUB_READ_TOKEN; nil: no repository that needs it is read
	Limits   Limits
	Library  Library // reads remote repositories in the place of git, where there is none; nil: git does

	// How a website is reached; the defaults are this machine's resolver, dialer and certificates. Dial gets an address
	// and a port that have passed.
	Resolve      func(ctx context.Context, host string) ([]netip.Addr, error)
	Dial         func(ctx context.Context, network, address string) (net.Conn, error)
	Certificates *x509.CertPool
}

// Secrets reads the values of secrets by their names.
type Secrets = func(ctx context.Context, names []string) (map[string]string, error)

// GitHubToken is the Token of a process whose secrets hold it.
func GitHubToken(secrets Secrets) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		values, err := secrets(ctx, []string{executor.SecretGitHubToken})
		return values[executor.SecretGitHubToken], err
	}
}

// Limits bounds a reading. Zero fields have the default.
type Limits struct {
	Items   int           // 200
	Item    int64         // bytes of one, 256 KiB
	Total   int64         // bytes of all, 2 MiB
	Fetch   int64         // bytes of a repository's fetched objects, 256 MiB
	Page    time.Duration // for one page of a website, 15 s
	Reading time.Duration // for everything, 60 s
}

func (l Limits) orDefault() Limits {
	set := func(v *int64, d int64) {
		if *v == 0 {
			*v = d
		}
	}
	set(&l.Item, 256<<10)
	set(&l.Total, 2<<20)
	set(&l.Fetch, 256<<20)
	set((*int64)(&l.Page), int64(15*time.Second))
	set((*int64)(&l.Reading), int64(time.Minute))
	if l.Items == 0 {
		l.Items = 200
	}
	return l
}

// maxSkipped bounds how many paths a reading names that it left out.
const maxSkipped = 100

// Read reads a Source. Errors: KindInvalid for a Source that cannot be read as it is, KindUnavailable for one that cannot
// be read now.
func (r *Reader) Read(ctx context.Context, s company.Source) ([]company.Document, error) {
	c := collection{limits: r.Limits.orDefault()}
	r, err := r.absolute()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, c.limits.Reading)
	defer cancel()
	config, err := readConfig(s)
	if err != nil {
		return nil, err
	}
	switch s.Type {
	case company.SourceMarkdown:
		err = r.markdown(s, config, &c)
	case company.SourceGit:
		err = r.git(ctx, s, config, &c)
	case company.SourceWebsite:
		err = r.website(ctx, s, config, &c)
	}
	if err != nil {
		return nil, err
	}
	return c.done()
}

// absolute is the reader with its folder's whole path: git runs elsewhere.
func (r *Reader) absolute() (*Reader, error) {
	if r.Root == "" {
		return r, nil
	}
	root, err := filepath.Abs(r.Root)
	if err != nil {
		return nil, err
	}
	whole := *r
	whole.Root = root
	return &whole, nil
}

// config is a Source's config, as it was checked at its creation.
type config struct {
	Paths  []string `json:"paths"`
	Branch string   `json:"branch"`
}

func readConfig(s company.Source) (c config, err error) {
	if len(s.Config) > 0 {
		if err := json.Unmarshal(s.Config, &c); err != nil {
			return c, unreadable("The config of the Source is not valid")
		}
	}
	for i, p := range c.Paths {
		if p = strings.TrimSpace(p); !filepath.IsLocal(p) || strings.Contains(p, `\`) {
			return c, unreadable("paths must be a list of non-empty relative file paths")
		}
		c.Paths[i] = filepath.ToSlash(filepath.Clean(p))
	}
	return c, nil
}

// wants says whether a path is among those that the config names, or below one. No paths select everything.
func (c config) wants(path string) bool {
	for _, p := range c.Paths {
		if p == "." || path == p || strings.HasPrefix(path, p+"/") {
			return true
		}
	}
	return len(c.Paths) == 0
}

// collection is what a reading has so far.
type collection struct {
	limits  Limits
	items   []company.Document
	bytes   int64
	skipped []string
}

// fits says whether another item of this size is taken; if not it is skipped.
func (c *collection) fits(path string, size int64) bool {
	if size <= c.limits.Item && c.bytes+size <= c.limits.Total && len(c.items) < c.limits.Items {
		return true
	}
	c.skip(path)
	return false
}

func (c *collection) skip(path string) {
	if len(c.skipped) < maxSkipped {
		c.skipped = append(c.skipped, strings.ToValidUTF8(path, "\uFFFD"))
	}
}

// add takes a text and skips what is none.
func (c *collection) add(path, link string, content []byte) {
	if !c.fits(path, int64(len(content))) {
		return
	}
	if !utf8.Valid(content) || !utf8.ValidString(path) || bytes.IndexByte(content, 0) >= 0 {
		c.skip(path)
		return
	}
	sum := sha256.Sum256(content)
	c.bytes += int64(len(content))
	c.items = append(c.items, company.Document{Path: path, Link: link, ContentHash: hex.EncodeToString(sum[:]), Content: string(content)})
}

func (c *collection) done() ([]company.Document, error) {
	if len(c.items) == 0 {
		return nil, unreadable("The Source holds no text that can be read")
	}
	for i := range c.items {
		c.items[i].SkippedPaths = c.skipped
	}
	return c.items, nil
}

// unreadable is a Source that stays unreadable until somebody changes it.
func unreadable(format string, a ...any) error {
	return task.Invalidf("source_unreadable", "Replace the Source, or change what it points to.", format, a...)
}

// notNow is a Source that may be readable later.
func notNow(detail string, err error) error {
	return &task.Error{
		Kind: task.KindUnavailable, Code: "source_unavailable", Detail: detail, Remedy: "Try again; if it stays so, replace the Source.",
		Retryable: true, Err: err,
	}
}
