package setting

import (
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// What single values look like.
var (
	stackName    = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9-]{0,39}$`)
	regionName   = regexp.MustCompile(`^[a-z]{2}(-[a-z]+)+-[0-9]$`)
	imageDigest  = regexp.MustCompile(`^[a-z0-9][a-z0-9._/:-]*@sha256:[0-9a-f]{64}$`)
	secretName   = regexp.MustCompile(`^[A-Za-z0-9-]{1,128}$`)
	vpcID        = regexp.MustCompile(`^vpc-[0-9a-f]+$`)
	subnetID     = regexp.MustCompile(`^subnet-[0-9a-f]+$`)
	proxyURL     = regexp.MustCompile(`^http://[A-Za-z0-9.-]+:[0-9]{1,5}$`)
	domainPrefix = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
	groupName    = regexp.MustCompile(`^[A-Za-z0-9._-]{1,128}$`)
	groupsClaim  = regexp.MustCompile(`^[A-Za-z0-9:/._-]{1,128}$`)
	audienceName = regexp.MustCompile(`^\S+$`)
	issuerURL    = regexp.MustCompile(`^(https://[^\s?#]+|http://(127\.[0-9.]+|localhost)(:[0-9]+)?(/[^\s?#]*)?)$`)
	publicURL    = regexp.MustCompile(`^https?://[^\s?#@]+$`)
	topicName    = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}=arn:aws[a-z-]*:sns:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_-]{1,256}$`)
	emailAddress = regexp.MustCompile(`^[^@\s]+@[^@\s]+\.[^@\s]+$`)
)

// logDays are the retentions that CloudWatch Logs knows, up to a year.
var logDays = []int{1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365}

func (r *reader) match(key, fallback string, form *regexp.Regexp, says string) string {
	v := r.value(key, fallback)
	if v != "" && !form.MatchString(v) {
		r.fail("%s %q is not %s", key, v, says)
	}
	return v
}

// publicURL is where people and sandboxes send their tokens: over TLS, or to an address that no public network leads to.
func (r *reader) publicURL(key string) string {
	const says = "an https URL without query (http for a loopback or private address)"
	v := r.match(key, "", publicURL, says)
	u, err := url.Parse(v)
	if err != nil || u.Scheme == "http" && !near(u.Hostname()) {
		r.fail("%s %q is not %s", key, v, says)
	}
	return strings.TrimSuffix(v, "/")
}

// near says that a host is this machine or an address of a private network.
func near(host string) bool {
	a, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && (a.IsLoopback() || a.IsPrivate())
}

func (r *reader) list(key string, form *regexp.Regexp, says string) []string {
	v := r.value(key, "")
	if v == "" {
		return nil
	}
	var all []string
	for _, item := range strings.Split(v, ",") {
		item = strings.TrimSpace(item)
		if !form.MatchString(item) {
			r.fail("%s %q is not %s", key, v, says)
		}
		all = append(all, item)
	}
	return all
}

func (r *reader) architecture(key, fallback string) Architecture {
	v := r.oneOf(key, fallback, string(ArchitectureARM), string(ArchitectureX86), architectureHost)
	switch {
	case v == architectureHost && runtime.GOARCH == "arm64":
		return ArchitectureARM
	case v == architectureHost:
		return ArchitectureX86
	}
	return Architecture(v)
}

func (r *reader) logDays(key string, fallback int) int {
	n := r.number(key, fallback, logDays[len(logDays)-1])
	if !slices.Contains(logDays, n) && r.err == nil {
		all := make([]string, len(logDays))
		for i, d := range logDays {
			all[i] = strconv.Itoa(d)
		}
		r.fail("%s %d is not one of %s", key, n, strings.Join(all, ", "))
	}
	return n
}

// path is a file that exists, or nothing where nothing is the default.
func (r *reader) path(key, fallback, root string) string {
	v := r.value(key, fallback)
	if v == "" {
		return ""
	}
	if !filepath.IsAbs(v) {
		v = filepath.Join(root, v)
	}
	info, err := os.Stat(v)
	if err != nil || info.IsDir() {
		r.fail("%s %q is no file", key, r.value(key, fallback))
	}
	return v
}

// GoArch is the architecture's name in Go.
func (a Architecture) GoArch() string {
	if a == ArchitectureX86 {
		return "amd64"
	}
	return "arm64"
}
