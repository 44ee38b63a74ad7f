// Package gitcmd is how this project lets git talk to a repository that it does not trust: the whole environment, the
// whole configuration and the arguments. It starts nothing.
package gitcmd

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
)

// Environment is everything that git gets to know: never anybody's configuration, hooks, filters or credential helpers,
// and nothing of this process's environment but PATH. home is an empty directory, config is beside the fixed
// configuration; never in an argument, which everybody may read.
func Environment(home string, config [][2]string) []string {
	env := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_CONFIG_HOME=" + home, "LC_ALL=C", "TZ=UTC",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_SYSTEM=" + os.DevNull, "GIT_CONFIG_GLOBAL=" + os.DevNull,
		"GIT_ATTR_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=", "SSH_ASKPASS=",
		"GIT_NO_REPLACE_OBJECTS=1", "GIT_LFS_SKIP_SMUDGE=1", "GIT_OPTIONAL_LOCKS=0", "GIT_TEMPLATE_DIR=",
	}
	all := append(fixed(), config...)
	env = append(env, "GIT_CONFIG_COUNT="+strconv.Itoa(len(all)))
	for i, pair := range all {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, pair[0]), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, pair[1]))
	}
	return env
}

// fixed holds for every command. Configuration of this scope wins over a repository's own.
func fixed() [][2]string {
	return [][2]string{
		{"core.hooksPath", os.DevNull},
		{"core.fsmonitor", "false"},
		{"core.untrackedCache", "false"},
		{"core.protectHFS", "true"},
		{"core.protectNTFS", "true"},
		{"core.symlinks", "true"},
		{"credential.helper", ""},
		{"http.followRedirects", "false"},
		{"protocol.allow", "never"},
		{"submodule.recurse", "false"},
		{"fetch.recurseSubmodules", "false"},
		{"diff.ignoreSubmodules", "dirty"},
		{"safe.bareRepository", "explicit"},
		{"gc.auto", "0"},
		{"maintenance.auto", "false"},
		{"advice.detachedHead", "false"},
		{"advice.addEmbeddedRepo", "false"},
	}
}

// Passed are the operator's proxy and certificate settings, which a command that talks to the network needs.
func Passed() []string {
	var pass []string
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH"} {
		if value := os.Getenv(name); value != "" {
			pass = append(pass, name+"="+value)
		}
	}
	return pass
}

// RemoteConfig is what a command that talks to a remote needs beside the fixed configuration: the one protocol of its
// URL, checked objects in one pack, and the credential for this host alone.
func RemoteConfig(remote, token string) ([][2]string, error) {
	u, err := url.Parse(remote)
	if err != nil {
		return nil, err
	}
	if u.Scheme != "https" && u.Scheme != "http" {
		return nil, fmt.Errorf("protocol %q is not used for a checkout", u.Scheme)
	}
	config := fetchConfig(u.Scheme)
	if token != "" {
		basic := base64.StdEncoding.EncodeToString([]byte("x-access-token:" + token))
		config = append(config, [2]string{"http." + u.Scheme + "://" + u.Host + "/.extraHeader", "Authorization: Basic " + basic})
	}
	return config, nil
}

// FolderConfig is RemoteConfig for a repository of this machine.
func FolderConfig() [][2]string { return fetchConfig("file") }

func fetchConfig(protocol string) [][2]string {
	return [][2]string{
		{"protocol." + protocol + ".allow", "always"},
		{"protocol.version", "2"},
		{"fetch.unpackLimit", "1"},
		{"fetch.fsckObjects", "true"},
		// Old and harmless faults that histories are full of.
		{"fetch.fsck.zeroPaddedFilemode", "warn"},
		{"fetch.fsck.missingSpaceBeforeDate", "warn"},
		{"fetch.fsck.badTimezone", "warn"},
		{"fetch.fsck.missingEmail", "warn"},
		{"fetch.fsck.badEmail", "warn"},
	}
}

// TipArgs asks a remote for the commit of a ref; Tip reads the answer.
func TipArgs(remote, ref string) []string {
	if ref == "HEAD" {
		return []string{"ls-remote", "--exit-code", "--", remote, ref}
	}
	return []string{"ls-remote", "--exit-code", "--refs", "--", remote, ref}
}

// Tip is the commit of a ref in what TipArgs prints; the pattern of ls-remote also matches the end of a longer name.
func Tip(out []byte, ref string) (string, bool) {
	for line := range strings.Lines(string(out)) {
		if id, name, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok && name == ref {
			return id, true
		}
	}
	return "", false
}

// InitArgs makes a bare repository without templates.
func InitArgs(dir string) []string {
	return []string{"init", "--quiet", "--bare", "--initial-branch=none", dir}
}

// FetchArgs gets one commit by its id, and nothing else, into a bare repository.
func FetchArgs(dir, remote, commit string) []string {
	return []string{
		"--git-dir=" + dir, "fetch", "--quiet", "--depth=1", "--no-tags", "--no-write-fetch-head",
		"--no-recurse-submodules", "--no-auto-maintenance", "--", remote, commit,
	}
}

// TreeArgs lists the files of a commit, each "mode type object size<TAB>path", ended by NUL.
func TreeArgs(dir, commit string) []string {
	return []string{"--git-dir=" + dir, "ls-tree", "-r", "-l", "-z", "--full-tree", commit}
}
