package company

import (
	"strings"
	"testing"
	"time"
)

func TestCheckPagePath(t *testing.T) {
	t.Parallel()
	const normalized = "Wiki paths must be normalized relative Markdown paths"
	invalid := func(quoted, reason string) string {
		return "invalid path " + quoted + ": " + reason + ". Use relative paths like notes/topic.md."
	}
	long := strings.Repeat("x", 126) + ".md"
	for _, c := range []struct{ path, want string }{
		{"brief.md", ""},
		{"notes/plan.md", ""},
		{"Über uns/größe.md", ""},
		{strings.Repeat("a/", 15) + "b.md", ""},
		{strings.Repeat("x", 125) + ".md", ""},
		{".md", ""},
		{"a.txt", normalized},
		{"a.MD", normalized},
		{"a", normalized},
		{"/a.md", normalized},
		{"a//b.md", normalized},
		{"a\xff.md", normalized},
		{"", invalid("''", "path is empty")},
		{"a/", invalid("'a/'", "trailing slashes are not allowed, paths address files")},
		{"a/b.md/", invalid("'a/b.md/'", "trailing slashes are not allowed, paths address files")},
		{"a/../b.md", invalid("'a/../b.md'", "segments '.' and '..' are not allowed")},
		{"./b.md", invalid("'./b.md'", "segments '.' and '..' are not allowed")},
		{`a\b.md`, invalid(`'a\\b.md'`, "backslashes are not allowed, use forward slashes")},
		{"a\nb.md", invalid(`'a\nb.md'`, "control characters are not allowed")},
		{"a\x00b.md", invalid(`'a\x00b.md'`, "control characters are not allowed")},
		{"it's/../b.md", invalid(`"it's/../b.md"`, "segments '.' and '..' are not allowed")},
		{"a\u202eb/../c.md", invalid(`'a\u202eb/../c.md'`, "segments '.' and '..' are not allowed")},
		{long, invalid("'"+long+"'", "a segment is longer than 128 characters")},
		{strings.Repeat("a/", 16) + "b.md", invalid("'"+strings.Repeat("a/", 16)+"b.md'", "path has more than 16 segments")},
		{strings.Repeat("ab/", 170) + "cd.md", invalid("'"+strings.Repeat("ab/", 170)+"cd.md'", "path is longer than 512 characters")},
	} {
		got := ""
		if err := CheckPagePath(c.path); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%q: got %q, want %q", c.path, got, c.want)
		}
	}
}

func TestPageErrors(t *testing.T) {
	t.Parallel()
	if err := CheckPageSize("big.md", strings.Repeat("x", MaxPageBytes)); err != nil {
		t.Errorf("the largest page: %v", err)
	}
	for _, c := range []struct {
		err  error
		want string
	}{
		{CheckPageSize("big.md", strings.Repeat("x", MaxPageBytes+1)), "big.md would be 1000001 bytes (limit 1000000 per file)"},
		{CheckPageSize("big.md", strings.Repeat("ü", MaxPageBytes/2+1)), "big.md would be 1000002 bytes (limit 1000000 per file)"},
		{PageExistsError("a.md"), "file already exists: a.md"},
		{PageChangedError("a.md", 3, 0), "version conflict on a.md: expected 3, actual None"},
		{PageChangedError("a.md", 1, 2), "version conflict on a.md: expected 1, actual 2"},
	} {
		if c.err == nil || c.err.Error() != c.want {
			t.Errorf("got %v, want %s", c.err, c.want)
		}
	}
}

func TestDefaultPages(t *testing.T) {
	t.Parallel()
	now := time.Unix(1, 0)
	company, product := DefaultPages(nil, now), DefaultPages(&Product{ID: "p", Name: "Widget"}, now)
	for _, c := range []struct{ got, want string }{
		{company[0].Content, "# Company\n\nShared company context.\n"},
		{company[1].Content, "# Company status\n\nNo status recorded yet.\n"},
		{product[0].Content, "# Widget\n\n\n"},
		{product[1].Content, "# Widget status\n\nNo status recorded yet.\n"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}
