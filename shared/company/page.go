package company

import (
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"companyos/shared/task"
)

// CompanyNamespace is the namespace of the Company's own pages; a Product's pages are under its id.
const CompanyNamespace = "company"

// MaxPageBytes bounds the content of one page.
const MaxPageBytes = 1_000_000

// Bounds of a page's path.
const (
	maxPagePath     = 512 // characters
	maxPageSegment  = 128 // characters
	maxPageSegments = 16
)

// PageInfo describes one version of a page, without its content.
type PageInfo struct {
	Namespace string
	Path      string
	Version   int
	SizeBytes int
	UserID    *string // who wrote it; nil for the service
	UpdatedAt time.Time
}

// Page is one page of a playbook.
type Page struct {
	PageInfo
	Content string
}

// DefaultPage is the path of a page that every namespace has from its first use on.
const (
	PageBrief  = "brief.md"
	PageStatus = "status.md"
)

// DefaultPages are what a namespace starts with. p is nil for the Company's own.
func DefaultPages(p *Product, now time.Time) []Page {
	namespace, brief, name := CompanyNamespace, "# Company\n\nShared company context.\n", "Company"
	if p != nil {
		purpose := ""
		if p.Purpose != nil {
			purpose = *p.Purpose
		}
		namespace, brief, name = p.ID, "# "+p.Name+"\n\n"+purpose+"\n", p.Name
	}
	page := func(path, content string) Page {
		return Page{PageInfo: PageInfo{Namespace: namespace, Path: path, Version: 1, SizeBytes: len(content), UpdatedAt: now}, Content: content}
	}
	return []Page{page(PageBrief, brief), page(PageStatus, "# "+name+" status\n\nNo status recorded yet.\n")}
}

// CheckPagePath accepts a normalized relative path of a Markdown page. KindInvalid otherwise.
func CheckPagePath(path string) error {
	if broken := brokenPath(path); broken != "" {
		return task.Invalidf("wiki_path", "Use a relative path such as notes/topic.md.",
			"invalid path %s: %s. Use relative paths like notes/topic.md.", quoted(path), broken)
	}
	if !utf8.ValidString(path) || strings.HasPrefix(path, "/") || strings.Contains(path, "//") || !strings.HasSuffix(path, ".md") {
		return task.Invalidf("wiki_path", "Use a relative path such as notes/topic.md.", "Wiki paths must be normalized relative Markdown paths")
	}
	return nil
}

func brokenPath(path string) string {
	switch {
	case path == "":
		return "path is empty"
	case strings.Contains(path, `\`):
		return "backslashes are not allowed, use forward slashes"
	case strings.ContainsFunc(path, unicode.IsControl):
		return "control characters are not allowed"
	case strings.HasSuffix(path, "/"):
		return "trailing slashes are not allowed, paths address files"
	case utf8.RuneCountInString(path) > maxPagePath:
		return "path is longer than " + strconv.Itoa(maxPagePath) + " characters"
	}
	segments := 0
	for segment := range strings.SplitSeq(path, "/") {
		switch {
		case segment == "." || segment == "..":
			return "segments '.' and '..' are not allowed"
		case utf8.RuneCountInString(segment) > maxPageSegment:
			return "a segment is longer than " + strconv.Itoa(maxPageSegment) + " characters"
		case segment != "":
			segments++
		}
	}
	if segments > maxPageSegments {
		return "path has more than " + strconv.Itoa(maxPageSegments) + " segments"
	}
	return ""
}

// quoted writes a path between quotes as the contract's texts do: single ones where the path has none, with escapes for
// what cannot be seen.
func quoted(s string) string {
	quote := byte('\'')
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		quote = '"'
	}
	var b strings.Builder
	b.WriteByte(quote)
	for _, r := range s {
		switch {
		case r == '\\' || r == rune(quote):
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r != utf8.RuneError && unicode.IsPrint(r):
			b.WriteRune(r)
		case r < 0x100:
			b.WriteString(`\x` + hex(int64(r), 2))
		case r < 0x10000:
			b.WriteString(`\u` + hex(int64(r), 4))
		default:
			b.WriteString(`\U` + hex(int64(r), 8))
		}
	}
	b.WriteByte(quote)
	return b.String()
}

func hex(n int64, width int) string {
	digits := strconv.FormatInt(n, 16)
	return strings.Repeat("0", max(width-len(digits), 0)) + digits
}

// CheckPageSize refuses a page that is too large. KindInvalid otherwise.
func CheckPageSize(path, content string) error {
	if len(content) <= MaxPageBytes {
		return nil
	}
	return task.Invalidf("wiki_page_too_large", "Split the page.", "%s would be %d bytes (limit %d per file)", path, len(content), MaxPageBytes)
}

// PageExistsError is a page that somebody wants to create and that is there.
func PageExistsError(path string) error {
	return task.Conflictf("wiki_page_exists", "Read the page and write it with its version.", "file already exists: %s", path)
}

// PageChangedError is a write to another version of a page than the present one; actual is 0 for no page.
func PageChangedError(path string, expected int64, actual int) error {
	present := "None"
	if actual > 0 {
		present = strconv.Itoa(actual)
	}
	return task.Conflictf("wiki_page_changed", "Read the page again, put your change into it and write it with its version; version= shows what you began with.",
		"version conflict on %s: expected %d, actual %s", path, expected, present)
}
