package company_test

import (
	"strings"
	"testing"

	"companyos/shared/company"
)

func TestValidateRepositoryURL(t *testing.T) {
	t.Parallel()
	hosts := []string{"https://git.example.com/", "https://ghe.example.com/team/", "http://127.0.0.1:8123/", "https://unslashed.example.com"}
	accepted := []string{
		"https://github.com/o/r",
		"https://github.com/o/r.git",
		"https://github.com/octocat/Hello-World",
		"https://github.com/-o/-r",
		"https://github.com/.o/.r",
		"https://github.com/o_o/r.r-r_r",
		"https://github.com/.../...",
	}
	for _, u := range accepted {
		if err := company.ValidateRepositoryURL(u, nil); err != nil {
			t.Errorf("%q: %v", u, err)
		}
	}
	rejected := map[string]string{
		"empty":               "",
		"blank":               " ",
		"trailing slash":      "https://github.com/o/r/",
		"http":                "http://github.com/o/r",
		"scheme in capitals":  "HTTPS://github.com/o/r",
		"host in other case":  "https://GitHub.com/o/r",
		"www":                 "https://www.github.com/o/r",
		"user info":           "https://user@github.com/o/r",
		"user and password":   "https://user:secret@github.com/o/r",
		"port":                "https://github.com:443/o/r",
		"scp form":            "git@github.com:o/r.git",
		"ssh":                 "ssh://git@github.com/o/r",
		"git":                 "git://github.com/o/r",
		"file":                "file:///srv/r",
		"path":                "/srv/r",
		"gitlab":              "https://gitlab.com/o/r",
		"enterprise":          "https://github.example.com/o/r",
		"host as a prefix":    "https://github.com.evil.example/o/r",
		"query":               "https://github.com/o/r?x=1",
		"fragment":            "https://github.com/o/r#readme",
		"deeper path":         "https://github.com/o/r/tree/main",
		"three parts":         "https://github.com/o/r/x",
		"one part":            "https://github.com/o",
		"no parts":            "https://github.com/",
		"dot part":            "https://github.com/o/.",
		"dot owner":           "https://github.com/./r",
		"dot dot part":        "https://github.com/o/..",
		"dot dot owner":       "https://github.com/../r",
		"double slash":        "https://github.com//r",
		"trailing newline":    "https://github.com/o/r\n",
		"leading space":       " https://github.com/o/r",
		"escape":              "https://github.com/o/r%20x",
		"escaped dots":        "https://github.com/o/%2e%2e",
		"backslash":           `https://github.com/o\r`,
		"non-ASCII":           "https://github.com/ö/r",
		"NUL":                 "https://github.com/o/r\x00",
		"external helper":     "ext::sh -c touch% /tmp/x",
		"option":              "--upload-pack=touch /tmp/x",
		"configured host":     "https://git.example.com/o/r",
		"loopback unlisted":   "http://127.0.0.1:8123/r",
		"slashes in the host": "https://github.com\\@evil.example/o/r",
	}
	for name, u := range rejected {
		if err := company.ValidateRepositoryURL(u, nil); err != company.ErrRepositoryURL {
			t.Errorf("%s %q: got %v", name, u, err)
		}
	}
	for u, ok := range map[string]bool{
		"https://github.com/o/r":                true,
		"https://github.com/o/r/x":              false,
		"https://git.example.com/o/r":           true,
		"https://git.example.com/group/sub/r":   true,
		"https://git.example.com/r.git":         true,
		"https://git.example.com/":              false,
		"https://git.example.com/o/r/":          false,
		"https://git.example.com/o/../r":        false,
		"https://git.example.com/o//r":          false,
		"https://git.example.com/o/r?x=1":       false,
		"https://git.example.com/o/u@r":         false,
		"https://git.example.com:8443/o/r":      false,
		"https://git.example.com.evil.com/o/r":  false,
		"https://GIT.example.com/o/r":           false,
		"https://ghe.example.com/team/r":        true,
		"https://ghe.example.com/other/r":       false,
		"http://127.0.0.1:8123/r.git":           true,
		"http://127.0.0.1:81234/r.git":          false,
		"https://127.0.0.1:8123/r.git":          false,
		"https://unslashed.example.com/o/r":     false,
		"https://unslashed.example.com.evil/r":  false,
		"https://git.example.com/" + deep(20):   true,
		"https://git.example.com/" + deep(21):   false,
		"https://user:x@git.example.com/o/r":    false,
		"https://git.example.com/o/r\n":         false,
		"https://git.example.com/o/r --upload=": false,
	} {
		err := company.ValidateRepositoryURL(u, hosts)
		if ok && err != nil || !ok && err != company.ErrRepositoryURL {
			t.Errorf("%q with hosts: got %v, accepted should be %t", u, err, ok)
		}
	}
}

func deep(parts int) string { return strings.TrimSuffix(strings.Repeat("p/", parts), "/") }

func TestValidateBranch(t *testing.T) {
	t.Parallel()
	for _, b := range []string{
		"main", "master", "feature/x", "release-1.0", "@", "refs/heads/x", "origin/HEAD", "HEADs", "head", "a@b", "{x}",
		"$(id)", "`id`", "a;b", "a'b\"c", "a&b|c", "übung", "分支", "a.lockx", "x.lock.y", "a-", strings.Repeat("b", 5000),
	} {
		if err := company.ValidateBranch(b); err != nil {
			t.Errorf("%q: %v", b, err)
		}
	}
	for _, b := range []string{
		"", "HEAD", "-x", "--upload-pack=x", "x.", ".", "..", "a..b", "a@{b", "@{-1}", "a b", " ", "a\tb", "a\nb", "main\n",
		"a\x00b", "a\x1fb", "a\x7fb", "a~b", "a^b", "a:b", "a?b", "a*b", "a[b", `a\b`, "/a", "a/", "a//b", "/", ".a",
		"a/.b", "x.lock", "a.lock/b", "a/b.lock", ".lock", "a\xffb",
	} {
		if err := company.ValidateBranch(b); err != company.ErrBranch {
			t.Errorf("%q: got %v", b, err)
		}
	}
}

func TestValidateCommit(t *testing.T) {
	t.Parallel()
	sha := "0123456789abcdef0123456789abcdef01234567"
	for _, c := range []string{sha, strings.ToUpper(sha), strings.Repeat("a", 40)} {
		if err := company.ValidateCommit(c); err != nil {
			t.Errorf("%q: %v", c, err)
		}
	}
	for _, c := range []string{
		"", "main", sha[:7], sha[:39], sha + "0", strings.Repeat("a", 64), sha[:39] + "g", sha + "\n", " " + sha[1:], "-" + sha[1:],
	} {
		if err := company.ValidateCommit(c); err != company.ErrCommit {
			t.Errorf("%q: got %v", c, err)
		}
	}
}

func TestRepositoryTexts(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]string{
		company.ErrRepositoryURL: "repository.url must be a GitHub HTTPS repository without credentials",
		company.ErrBranch:        "repository.branch must be a valid Git branch name",
		company.ErrCommit:        "metadata.repository.commit must be a full 40-hex commit SHA",
	} {
		if err.Error() != want {
			t.Errorf("got %q, want %q", err, want)
		}
	}
}

func TestParseGitHosts(t *testing.T) {
	t.Parallel()
	got, err := company.ParseGitHosts(" https://git.example.com, https://ghe.example.com/team/\nhttp://127.0.0.1:8123,http://[::1]:80/,http://localhost:9/x https://10.1.2.3/ ")
	want := "https://git.example.com/ https://ghe.example.com/team/ http://127.0.0.1:8123/ http://[::1]:80/ http://localhost:9/x/ https://10.1.2.3/"
	if err != nil || strings.Join(got, " ") != want {
		t.Errorf("got %q, %v", got, err)
	}
	if got, err := company.ParseGitHosts(" ,\n"); err != nil || len(got) != 0 {
		t.Errorf("empty list: %q, %v", got, err)
	}
	for prefix, want := range map[string]string{
		"http://git.example.com/":           "loopback",
		"http://10.0.0.1/":                  "loopback",
		"http://localhost.example.com/":     "loopback",
		"http://127.0.0.1.example.com/":     "loopback",
		"ssh://git@git.example.com/":        "user info",
		"https://u:p@git.example.com/":      "user info",
		"https://git.example.com/?x=1":      "query",
		"https://git.example.com/#x":        "query",
		"https://git.example.com/a%2fb":     "escape",
		"git.example.com":                   "https://",
		"file:///srv/git/":                  "https://",
		"HTTPS://git.example.com/":          "lower case",
		"https://Git.example.com/":          "lower case",
		"https://":                          "lower case",
		"https://git..example.com/":         "lower case",
		"https://*.example.com/":            "lower case",
		"https://github.com/":               "already",
		"https://git.example.com/a/../b/":   "path",
		"https://git.example.com/a//b/":     "path",
		"https://git.example.com:notaport/": "not a URL",
	} {
		got, err := company.ParseGitHosts("https://fine.example.com/," + prefix)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), prefix) {
			t.Errorf("%q: got %q, %v; want an error about %q", prefix, got, err, want)
		}
	}
}
