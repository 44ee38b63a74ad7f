package company

import (
	"encoding/json"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"companyos/shared/publicnet"
)

var environmentName = regexp.MustCompile(`\A[A-Za-z_][A-Za-z0-9_]*\z`)

// NewSource is a Source that somebody asks for.
type NewSource struct {
	ProductID     string
	Type          SourceType
	Reference     string
	CredentialRef *string
	Config        map[string]json.RawMessage
}

// Broken returns the first rule that the Source breaks, empty for none. hosts are the repositories allowed beside
// GitHub's. Names are not resolved here: a website is checked again, by address, when it is read.
func (s NewSource) Broken(hosts []string) string {
	if strings.TrimSpace(s.Reference) == "" {
		return "reference must be a non-empty string"
	}
	scp := strings.HasPrefix(s.Reference, "git@")
	u, err := url.Parse(s.Reference)
	if !scp && (err == nil && (u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "") || strings.ContainsAny(s.Reference, "?#")) {
		return "Source references cannot contain credentials, query strings or fragments"
	}
	if s.CredentialRef != nil && !environmentName.MatchString(*s.CredentialRef) {
		return "credential_ref must name an environment variable"
	}
	if broken := s.brokenConfig(); broken != "" {
		return broken
	}
	switch s.Type {
	case SourceGit:
		if scp || err != nil || u.Scheme != "" {
			if err := ValidateRepositoryURL(s.Reference, hosts); err != nil {
				return err.Error()
			}
		}
	case SourceWebsite:
		return brokenWebsite(u, err)
	case SourceMarkdown:
	}
	return ""
}

func (s NewSource) brokenConfig() string {
	for key, value := range s.Config {
		switch {
		case key == "paths":
			var paths []string
			if err := json.Unmarshal(value, &paths); err != nil || slices.ContainsFunc(paths, func(p string) bool { return strings.TrimSpace(p) == "" }) {
				return "paths must be a list of non-empty relative file paths"
			}
		case key == "branch" && s.Type == SourceGit:
			var branch string
			if err := json.Unmarshal(value, &branch); err != nil || ValidateBranch(branch) != nil {
				return ErrBranch.Error()
			}
		default:
			return "Source config supports paths and a git branch; credentials belong in the environment"
		}
	}
	return ""
}

func brokenWebsite(u *url.URL, err error) string {
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
		return "Website sources require an HTTP or HTTPS URL"
	}
	if port := u.Port(); port != "" && port != "80" && port != "443" {
		return "Website Sources require a public HTTP(S) URL on a standard port"
	}
	if privateHost(strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))) {
		return "Website Sources cannot read private network addresses"
	}
	return ""
}

// privateHost knows the names and the literal addresses that are never public, the odd spellings of an IPv4 address
// among them: resolvers accept them.
func privateHost(host string) bool {
	if host == "localhost" {
		return true
	}
	for _, suffix := range []string{".localhost", ".local", ".internal"} {
		if strings.HasSuffix(host, suffix) {
			return true
		}
	}
	if a, err := netip.ParseAddr(host); err == nil {
		return !publicnet.Public(a)
	}
	last := host[strings.LastIndex(host, ".")+1:]
	return strings.HasPrefix(last, "0x") || strings.Trim(last, "0123456789") == ""
}

// Document is one file or page of a Source as it was read. Path is within the Source; Link says where it is for people,
// and stays when the content changes.
type Document struct {
	Path         string
	Link         string
	ContentHash  string // SHA-256 of the content, hexadecimal
	Content      string
	SkippedPaths []string // what the reading left out, the same for all of its documents
}
