package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"companyos/shared/gitcmd"
	"companyos/shared/task"
)

// checkout brings one commit of one repository into a workspace, before the agent exists.
//
// The branch is resolved once, or not at all when the Task is pinned; the commit is fetched by its id, checked out
// detached and verified. The objects stay in a base repository of the supervisor's, from which the workspace borrows
// them: the agent cannot change what its patch is taken against. The agent's user runs all of git, so that a fault of
// git's that a hostile remote finds opens nothing of the supervisor's.
type checkout struct {
	git       git
	url       string
	branch    string
	commit    string // the pin, empty to resolve the branch
	token     string // GITHUB_READ_TOKEN, only for the remote's own host
	base      string // base.git, outside the agent's reach
	workspace string
	maxBytes  int64 // of the fetched pack and of the files, each
	patience  time.Duration
}

// warning is something that the checkout left out.
type warning struct {
	text  string
	paths []string
}

var commitID = regexp.MustCompile(`\A[0-9a-f]{40}\z`)

// run makes the checkout and returns its commit. Errors: *EndError of the kinds repository_not_found,
// repository_unauthorized, branch_missing, commit_missing, checkout_timeout, checkout_too_large, storage_full, internal,
// or the cause of ctx's end.
func (c *checkout) run(ctx context.Context) (commit string, warnings []warning, err error) {
	if err := c.init(); err != nil {
		return "", nil, c.classify(err)
	}
	commit = c.commit
	if commit == "" {
		if commit, err = c.resolve(ctx); err != nil {
			return "", nil, c.classify(err)
		}
	}
	if !commitID.MatchString(commit) {
		return "", nil, failuref(task.EndCommitMissing, nil, "%q is not a full commit id.", commit)
	}
	if err := c.fetch(ctx, commit); err != nil {
		return "", nil, c.classify(err)
	}
	warnings, err = c.inspect(ctx, commit)
	if err != nil {
		return "", nil, c.classify(err)
	}
	if err := c.populate(ctx, commit); err != nil {
		return "", nil, c.classify(err)
	}
	return commit, warnings, nil
}

// init makes the two repositories, without templates, and gives the base to the fetching user.
func (c *checkout) init() error {
	for _, dir := range []string{c.base, filepath.Join(c.workspace, ".git")} {
		if err := emptyRepository(dir, dir == c.base); err != nil {
			return err
		}
	}
	return chownTree(c.base, c.git.user)
}

// emptyRepository makes what git init makes, without starting it: a process takes longer than all of its work here.
func emptyRepository(dir string, bare bool) error {
	for _, folder := range []string{"objects/info", "objects/pack", "refs/heads", "refs/tags"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil { //nolint:gosec // the agent reads it
			return err
		}
	}
	config := fmt.Sprintf("[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = %t\n", bare)
	for name, content := range map[string]string{"HEAD": "ref: refs/heads/none\n", "config": config} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil { //nolint:gosec // as above
			return err
		}
	}
	return nil
}

// resolve asks the remote once for the branch's tip.
func (c *checkout) resolve(ctx context.Context) (string, error) {
	ref := "refs/heads/" + c.branch
	out, err := c.remote(ctx, gitcmd.TipArgs(c.url, ref)...)
	if err != nil {
		return "", err
	}
	if id, ok := gitcmd.Tip(out, ref); ok {
		return id, nil
	}
	return "", failuref(task.EndBranchMissing, nil, "%s has no branch %s.", c.url, c.branch)
}

// fetch gets the one commit by its id and makes the base the supervisor's.
func (c *checkout) fetch(ctx context.Context, commit string) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go gitcmd.WatchSize(ctx, c.base, c.maxBytes, func() { stop(c.tooLarge()) })
	if _, err := c.remote(ctx, gitcmd.FetchArgs(c.base, c.url, commit)...); err != nil {
		return err
	}
	return chownTree(c.base, supervisorOf(c.git.user))
}

// remote runs a command that talks to the remote, and repeats it while the host does not answer.
func (c *checkout) remote(ctx context.Context, args ...string) ([]byte, error) {
	config, err := gitcmd.RemoteConfig(c.url, c.token)
	if err != nil {
		return nil, err
	}
	call := gitCall{args: args, dir: c.git.home, config: config, env: c.git.pass}
	end := time.Now().Add(c.patience)
	for pause := 250 * time.Millisecond; ; pause = min(2*pause, 10*time.Second) {
		out, err := c.git.run(ctx, call)
		if err == nil || !unanswered(err) || time.Now().Add(pause).After(end) {
			return out, err
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil, context.Cause(ctx)
		case <-timer.C:
		}
	}
}

func (c *checkout) tooLarge() *EndError {
	return failuref(task.EndCheckoutTooLarge, nil, "The checkout is larger than %d MiB.", c.maxBytes>>20)
}

// populate lets the workspace borrow the base's objects, and writes the files as the agent's user.
func (c *checkout) populate(ctx context.Context, commit string) error {
	dir := filepath.Join(c.workspace, ".git")
	if err := os.WriteFile(filepath.Join(dir, "objects", "info", "alternates"), []byte(filepath.Join(c.base, "objects")+"\n"), 0o644); err != nil { //nolint:gosec // the agent reads it
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "shallow"), []byte(commit+"\n"), 0o644); err != nil { //nolint:gosec // the agent reads it
		return err
	}
	if err := chownTree(c.workspace, c.git.user); err != nil {
		return err
	}
	_, err := c.git.run(ctx, gitCall{dir: c.workspace, args: []string{
		"--git-dir=" + dir, "--work-tree=" + c.workspace, "checkout", "--quiet", "--force", "--no-recurse-submodules", "--detach", commit,
	}})
	if failed, ok := errors.AsType[*childError](err); ok && strings.Contains(failed.stderr, "non-commit") {
		return failuref(task.EndCommitMissing, err, "The repository's object %s is not a commit.", commit)
	}
	if err != nil {
		return err
	}
	if err := verify(filepath.Join(dir, "HEAD"), commit); err != nil {
		return err
	}
	return copyIndex(filepath.Join(dir, "index"), filepath.Join(c.base, pinnedIndex))
}

// verify looks where HEAD is, before there is an agent. A tag's id checks out the commit that it names, which is another.
func verify(path, commit string) error {
	head, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if got := string(bytes.TrimSpace(head)); got != commit {
		return failuref(task.EndCommitMissing, nil, "The repository's object %s is not a commit: the checkout is at %s.", commit, got)
	}
	return nil
}

// supervisorOf is the supervisor's own user where the agent has another, else nil.
func supervisorOf(agent *User) *User {
	if agent == nil {
		return nil
	}
	return &User{UID: os.Getuid(), GID: os.Getgid()}
}

// chownTree gives a tree to a user; nil leaves it. Symlinks are not followed. A folder goes after what is in it, since
// the supervisor may not look into a folder of the agent's.
func chownTree(root string, user *User) error {
	if user == nil {
		return nil
	}
	var paths []string
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		paths = append(paths, path)
		return err
	})
	if err != nil {
		return err
	}
	for _, path := range slices.Backward(paths) {
		if err := os.Lchown(path, user.UID, user.GID); err != nil {
			return err
		}
	}
	return nil
}
