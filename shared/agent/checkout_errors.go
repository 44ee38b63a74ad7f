package agent

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"syscall"

	"companyos/shared/task"
)

const storageFull = "The sandbox's disk is full."

// diskFull is what git and this program print then.
var diskFull = []string{"No space left on device", "no space left on device", "Out of diskspace", "isk quota exceeded"}

// gitSays maps what git prints in the C locale to a kind. The first match counts. The texts are git 2.39's. A code host
// may well say 401 for a repository that it does not have.
var gitSays = []struct {
	texts []string
	kind  task.EndKind
	say   string
}{
	{diskFull, task.EndStorageFull, storageFull},
	{
		[]string{"could not read Username", "Authentication failed", "returned error: 401", "returned error: 403", "Invalid username or password"},
		task.EndRepositoryUnauthorized,
		"The git host does not let this repository be read. It does not exist, or GITHUB_READ_TOKEN is missing, expired or has no right to it.",
	},
	{
		[]string{"returned error: 301", "returned error: 302", "returned error: 307", "returned error: 308", "unable to update url base from redirection"},
		task.EndRepositoryNotFound,
		"The repository has moved: the git host redirects, which is not followed. Use its present URL.",
	},
	{
		[]string{"' not found", "returned error: 404", "does not appear to be a git repository", "not valid: is this a git repository"},
		task.EndRepositoryNotFound, "The git host has no such repository.",
	},
	{
		[]string{"not our ref", "couldn't find remote ref", "Server does not allow request for unadvertised object"},
		task.EndCommitMissing, "The repository does not have this commit any more.",
	},
}

// noAnswer is what git prints when the host did not answer, or broke off.
var noAnswer = []string{
	"Could not resolve host", "Failed to connect", "Couldn't connect", "Connection refused", "Connection reset", "Connection timed out",
	"Operation timed out", "returned error: 429", "returned error: 500", "returned error: 502", "returned error: 503", "returned error: 504",
	"the remote end hung up", "early EOF", "RPC failed", "Empty reply from server", "unexpected disconnect",
}

// unanswered says that the same command may well succeed a moment later.
func unanswered(err error) bool {
	failed, ok := errors.AsType[*childError](err)
	return ok && !errors.Is(err, context.DeadlineExceeded) && kindOfGit(failed.stderr) == nil && containsAny(failed.stderr, noAnswer)
}

// classify gives an error of the checkout its kind.
func (c *checkout) classify(err error) error {
	if f, ok := errors.AsType[*EndError](err); ok {
		return f
	}
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return failuref(task.EndStorageFull, err, "%s", storageFull)
	}
	if errors.Is(err, exec.ErrNotFound) {
		return failuref(task.EndInternal, err, "The sandbox has no git.")
	}
	failed, ok := errors.AsType[*childError](err)
	if !ok {
		return failureOf(err)
	}
	if failed.exit == 2 && failed.stderr == "" { // ls-remote --exit-code found no match
		return failuref(task.EndBranchMissing, err, "%s has no branch %s.", c.url, c.branch)
	}
	if f := kindOfGit(failed.stderr); f != nil {
		f.Err = err
		return f
	}
	if containsAny(failed.stderr, noAnswer) {
		return failuref(task.EndCheckoutTimeout, err, "The git host of %s did not answer for %s.", c.url, c.patience)
	}
	if failed.stderr == "" {
		return failuref(task.EndInternal, err, "The checkout failed: %s.", failed)
	}
	return failuref(task.EndInternal, err, "The checkout failed: %s", lastLine(failed.stderr))
}

func kindOfGit(stderr string) *EndError {
	for _, row := range gitSays {
		if containsAny(stderr, row.texts) {
			return failuref(row.kind, nil, "%s", row.say)
		}
	}
	return nil
}

func containsAny(text string, parts []string) bool {
	for _, part := range parts {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}

// lastLine is the last thing that a program said.
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}
