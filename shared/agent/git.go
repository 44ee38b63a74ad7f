package agent

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/url"
	"os"
	"strconv"
)

// git runs git for the supervisor: never with anybody's configuration, hooks, filters or credential helpers, and with
// nothing of the supervisor's environment but what is named here.
type git struct {
	path string   // of the program
	home string   // an empty directory
	user *User    // whom it runs as
	pass []string // "NAME=value" of the operator's proxy and certificate settings, for the network alone
}

// passedToGit are the variables of the operator's that a fetch needs to get out of a network.
func passedToGit() []string {
	var pass []string
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH"} {
		if value := os.Getenv(name); value != "" {
			pass = append(pass, name+"="+value)
		}
	}
	return pass
}

// gitCall is one command.
type gitCall struct {
	args   []string
	dir    string
	env    []string    // beside the fixed environment
	config [][2]string // beside the fixed configuration; never in an argument, which everybody may read
	stdin  io.Reader
	stdout io.Writer
}

func (g git) run(ctx context.Context, c gitCall) ([]byte, error) {
	return child{
		args: append([]string{g.path}, c.args...), dir: c.dir, user: g.user, stdin: c.stdin, stdout: c.stdout,
		env: append(g.environment(c.config), c.env...),
	}.run(ctx)
}

// environment is everything that git gets to know.
func (g git) environment(config [][2]string) []string {
	env := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + g.home, "XDG_CONFIG_HOME=" + g.home, "LC_ALL=C", "TZ=UTC",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_SYSTEM=" + os.DevNull, "GIT_CONFIG_GLOBAL=" + os.DevNull,
		"GIT_ATTR_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=", "SSH_ASKPASS=",
		"GIT_NO_REPLACE_OBJECTS=1", "GIT_LFS_SKIP_SMUDGE=1", "GIT_OPTIONAL_LOCKS=0", "GIT_TEMPLATE_DIR=",
	}
	all := append(gitConfig(), config...)
	env = append(env, "GIT_CONFIG_COUNT="+strconv.Itoa(len(all)))
	for i, pair := range all {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, pair[0]), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, pair[1]))
	}
	return env
}

// gitConfig holds for every command. Configuration of this scope wins over a repository's own.
func gitConfig() [][2]string {
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

// remoteConfig is what a command that talks to the remote needs beside it: the one protocol of its URL, checked objects
// in one pack, and the credential for this host alone.
func remoteConfig(remote, token string) ([][2]string, error) {
	u, err := url.Parse(remote)
	if err != nil {
		return nil, err
	}
	if u.Scheme != "https" && u.Scheme != "http" {
		return nil, fmt.Errorf("protocol %q is not used for a checkout", u.Scheme)
	}
	config := [][2]string{
		{"protocol." + u.Scheme + ".allow", "always"},
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
	if token != "" {
		basic := base64.StdEncoding.EncodeToString([]byte("x-access-token:" + token))
		config = append(config, [2]string{"http." + u.Scheme + "://" + u.Host + "/.extraHeader", "Authorization: Basic " + basic})
	}
	return config, nil
}
