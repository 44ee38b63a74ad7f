package company

import (
	"encoding/json"
	"testing"
)

func TestSourceRules(t *testing.T) {
	t.Parallel()
	const (
		repository = "repository.url must be a GitHub HTTPS repository without credentials"
		private    = "Website Sources cannot read private network addresses"
		secrets    = "Source references cannot contain credentials, query strings or fragments"
		port       = "Website Sources require a public HTTP(S) URL on a standard port"
		scheme     = "Website sources require an HTTP or HTTPS URL"
		paths      = "paths must be a list of non-empty relative file paths"
		config     = "Source config supports paths and a git branch; credentials belong in the environment"
		branch     = "repository.branch must be a valid Git branch name"
	)
	for _, c := range []struct {
		kind            SourceType
		reference, want string
	}{
		{SourceGit, "https://github.com/o/r", ""},
		{SourceGit, "./local/path", ""},
		{SourceGit, "  ", "reference must be a non-empty string"},
		{SourceGit, "git@github.com:o/r", repository},
		{SourceGit, "ssh://github.com/o/r", repository},
		{SourceGit, "https://gitlab.com/o/r", repository},
		{SourceGit, "https://u:p@github.com/o/r", secrets},
		{SourceGit, "https://github.com/o/r?x=1", secrets},
		{SourceWebsite, "https://example.com/a#b", secrets},
		{SourceWebsite, "https://example.com/a", ""},
		{SourceWebsite, "http://example.com:80/", ""},
		{SourceWebsite, "https://example.com:8443/", port},
		{SourceWebsite, "ftp://example.com/", scheme},
		{SourceWebsite, "example.com", scheme},
		{SourceWebsite, "http://localhost/", private},
		{SourceWebsite, "http://a.LOCALHOST/", private},
		{SourceWebsite, "http://printer.local/", private},
		{SourceWebsite, "http://metadata.google.internal/", private},
		{SourceWebsite, "http://127.0.0.1/", private},
		{SourceWebsite, "http://10.1.2.3/", private},
		{SourceWebsite, "http://169.254.169.254/", private},
		{SourceWebsite, "http://[::1]/", private},
		{SourceWebsite, "http://[::ffff:10.0.0.1]/", private},
		{SourceWebsite, "http://[fd00:ec2::254]/", private},
		{SourceWebsite, "http://[fe80::1%25eth0]/", private},
		{SourceWebsite, "http://2130706433/", private},
		{SourceWebsite, "http://0x7f.1/", private},
		{SourceWebsite, "http://0/", private},
		{SourceWebsite, "http://100.64.0.1/", private},
		{SourceWebsite, "http://8.8.8.8/", ""},
		{SourceMarkdown, "docs", ""},
	} {
		if got := (NewSource{Type: c.kind, Reference: c.reference}).Broken(nil); got != c.want {
			t.Errorf("%s %q: %q, want %q", c.kind, c.reference, got, c.want)
		}
	}
	token, bad := "GITHUB_READ_TOKEN", "a-b"
	base := NewSource{Type: SourceGit, Reference: "https://github.com/o/r"}
	for _, c := range []struct {
		change func(*NewSource)
		want   string
	}{
		{func(s *NewSource) { s.CredentialRef = &token }, ""},
		{func(s *NewSource) { s.CredentialRef = &bad }, "credential_ref must name an environment variable"},
		{func(s *NewSource) { s.Config = raw(`{"paths":["a"],"branch":"main"}`) }, ""},
		{func(s *NewSource) { s.Config = raw(`{"paths":[" "]}`) }, paths},
		{func(s *NewSource) { s.Config = raw(`{"paths":"a"}`) }, paths},
		{func(s *NewSource) { s.Config = raw(`{"token":"x"}`) }, config},
		{func(s *NewSource) { s.Config = raw(`{"branch":"a..b"}`) }, branch},
		{func(s *NewSource) { s.Config = raw(`{"branch":"main"}`); s.Type = SourceMarkdown }, config},
	} {
		s := base
		c.change(&s)
		if got := s.Broken(nil); got != c.want {
			t.Errorf("%+v: %q, want %q", s, got, c.want)
		}
	}
}

func raw(s string) (m map[string]json.RawMessage) {
	if err := json.Unmarshal([]byte(s), &m); err != nil {
		panic(err)
	}
	return m
}

func TestNewMetadata(t *testing.T) {
	t.Parallel()
	for given, ok := range map[string]bool{
		`{}`: true, `{"archive_window_days":0}`: true, `{"archive_window_days":-1}`: false, `{"archive_window_days":1.5}`: false,
		`{"archive_window_days":true}`: false, `{"archive_window_days":"7"}`: false, `{"archive_window_days":null}`: false,
	} {
		if _, err := NewMetadata(raw(given), nil); (err == nil) != ok {
			t.Errorf("%s: %v", given, err)
		}
	}
	m, err := NewMetadata(raw(`{"routine_ids":["mine"],"k":1}`), raw(`{"routine_ids":["r1"],"old":1}`))
	if err != nil || string(m["routine_ids"]) != `["r1"]` || string(m["k"]) != "1" || m["old"] != nil || string(m["archive_window_days"]) != "14" {
		t.Errorf("%s, %v", m, err)
	}
	if m, _ := NewMetadata(raw(`{"routine_ids":["mine"]}`), nil); m["routine_ids"] != nil {
		t.Error("a caller's routine_ids were taken")
	}
}
