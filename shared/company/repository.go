package company

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"unicode/utf8"
)

// The rules of a repository. The texts are the contract's and reach clients as they are.
var (
	ErrRepositoryURL = errors.New("repository.url must be a GitHub HTTPS repository without credentials")
	ErrBranch        = errors.New("repository.branch must be a valid Git branch name")
	ErrCommit        = errors.New("metadata.repository.commit must be a full 40-hex commit SHA")
)

const (
	githubPrefix = "https://github.com/"
	shaLength    = 40
)

var (
	repositoryPart = regexp.MustCompile(`\A[A-Za-z0-9_.-]+\z`)
	commitSHA      = regexp.MustCompile(`\A[0-9a-fA-F]+\z`)
	hostName       = regexp.MustCompile(`\A[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?\z`)
)

// ValidateRepositoryURL accepts https://github.com/owner/name, and a repository below one of hosts: prefixes as
// ParseGitHosts returns them. Nothing is normalised: "name" and "name.git" are different repositories, as they are for
// the Source that has to match. It returns ErrRepositoryURL.
func ValidateRepositoryURL(repository string, hosts []string) error {
	if rest, ok := strings.CutPrefix(repository, githubPrefix); ok {
		return validateParts(rest, 2, 2)
	}
	for _, prefix := range hosts {
		if rest, ok := strings.CutPrefix(repository, prefix); ok && strings.HasSuffix(prefix, "/") {
			// GitLab nests groups, so the depth is the host's affair; github.com's is not.
			return validateParts(rest, 1, 20)
		}
	}
	return ErrRepositoryURL
}

// validateParts checks the path below a host. Characters that would begin a query, a fragment, an escape or user info
// are not among those a part may have.
func validateParts(path string, least, most int) error {
	parts := strings.Split(path, "/")
	if len(parts) < least || len(parts) > most {
		return ErrRepositoryURL
	}
	for _, part := range parts {
		if !repositoryPart.MatchString(part) || part == "." || part == ".." {
			return ErrRepositoryURL
		}
	}
	return nil
}

// ValidateBranch checks a branch name by git's rules for references (git-check-ref-format). It returns ErrBranch.
func ValidateBranch(branch string) error {
	if branch == "" || branch == "HEAD" || !utf8.ValidString(branch) ||
		strings.HasPrefix(branch, "-") || strings.HasSuffix(branch, ".") ||
		strings.Contains(branch, "..") || strings.Contains(branch, "@{") ||
		strings.ContainsFunc(branch, forbiddenInBranch) {
		return ErrBranch
	}
	for part := range strings.SplitSeq(branch, "/") {
		if part == "" || strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".lock") {
			return ErrBranch
		}
	}
	return nil
}

func forbiddenInBranch(r rune) bool {
	return r <= ' ' || r == 0x7f || strings.ContainsRune(`~^:?*[\`, r)
}

// ValidateCommit accepts a full SHA-1 object name in either case; whoever stores it lower-cases it. It returns
// ErrCommit.
func ValidateCommit(commit string) error {
	if len(commit) != shaLength || !commitSHA.MatchString(commit) {
		return ErrCommit
	}
	return nil
}

// ParseGitHosts reads a list of URL prefixes, separated by commas or white space: hosts, or folders on a host, whose
// repositories are allowed beside GitHub's. Each comes back with a slash at its end, so that no other host begins with
// it. Plain http is for loopback servers only: anywhere else whoever is on the way could change what is checked out.
func ParseGitHosts(list string) ([]string, error) {
	var hosts []string
	var errs []error
	for prefix := range strings.FieldsFuncSeq(list, func(r rune) bool { return r == ',' || strings.ContainsRune(" \t\r\n", r) }) {
		if err := validateGitHost(prefix); err != nil {
			errs = append(errs, fmt.Errorf("git host %q: %w", prefix, err))
			continue
		}
		hosts = append(hosts, strings.TrimSuffix(prefix, "/")+"/")
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return hosts, nil
}

func validateGitHost(prefix string) error {
	u, err := url.Parse(prefix)
	switch {
	case err != nil:
		return errors.New("is not a URL; write a prefix such as https://git.example.com/")
	case u.User != nil:
		return errors.New("holds user info; credentials belong to an executor's secrets")
	case strings.ContainsAny(prefix, "?#%"):
		return errors.New("holds a query, a fragment or an escape; write the plain prefix of the repositories' URLs")
	case u.Scheme != "https" && u.Scheme != "http":
		return errors.New("must begin with https://")
	case !strings.HasPrefix(prefix, u.Scheme+"://"+u.Host) || !validHost(u.Hostname()):
		return errors.New("has no host name in lower case; write a prefix such as https://git.example.com/")
	case u.Scheme == "http" && !loopback(u.Hostname()):
		return errors.New("plain http is allowed for loopback addresses only; use https")
	case u.Host == "github.com":
		return errors.New("repositories of github.com are allowed already; remove it")
	}
	if path := strings.Trim(u.Path, "/"); path != "" && validateParts(path, 1, 20) != nil {
		return errors.New("its path may hold letters, digits and _ . - between single slashes")
	}
	return nil
}

func validHost(host string) bool {
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	return hostName.MatchString(host) && !strings.Contains(host, "..")
}

func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback()
}
