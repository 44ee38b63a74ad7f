package agent

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"companyos/shared/agent/redact"
	"companyos/shared/gitcmd"
	"companyos/shared/task"
)

// snapshot takes what the agent changed since the pin, as a patch.
//
// It runs as the agent's user and with a throw-away git directory, whose objects are the base's: nothing of the agent's
// own .git is read, whose configuration could run commands. Attributes in the tree can name filters, but no
// configuration defines one. A symlink is taken as a symlink, a FIFO or socket not at all.
type snapshot struct {
	self      []string // the command that re-executes this program
	git       git
	base      string
	workspace string
	scratch   string   // a directory of the agent's user, outside the workspace
	unlock    []string // the agent's folders, when nothing of the agent's runs any more
	commit    string
	limit     int64 // of the patch, bytes
	redact    *redact.Redactor
}

// patch is a snapshot on the supervisor's disk.
type patch struct {
	file     string
	files    int
	takenAt  time.Time
	redacted bool
	warnings []warning
}

// bigFile is the size from which git reads a file in pieces.
const bigFile = "16m"

// take writes the patch to a file of the supervisor's. A nil patch means that nothing was changed. Errors: *EndError of
// kind output_limit, storage_full, out_of_memory or internal.
func (s *snapshot) take(ctx context.Context, to string, now time.Time) (*patch, error) {
	dir := filepath.Join(s.scratch, "snapshot.git")
	begin := child{
		args: append(append(append([]string{}, s.self...), SubcommandReady, s.base, dir), s.unlock...),
		dir:  s.git.home, env: gitcmd.Environment(s.git.home, nil), user: s.git.user, cell: s.git.cell, own: s.git.own,
	}
	if _, err := begin.run(ctx); err != nil {
		return nil, snapshotFailed(err)
	}
	run := func(c gitCall) ([]byte, error) {
		c.dir = s.workspace
		c.args = append([]string{"--git-dir=" + dir, "--work-tree=" + s.workspace}, c.args...)
		c.env = []string{"GIT_ALTERNATE_OBJECT_DIRECTORIES=" + filepath.Join(s.base, "objects")}
		c.config = append(c.config, [2]string{"core.bare", "false"}, [2]string{"core.autocrlf", "false"}, [2]string{"core.quotePath", "true"},
			[2]string{"core.bigFileThreshold", bigFile})
		return s.git.run(ctx, c)
	}
	p := &patch{file: to, takenAt: now}
	// What cannot be read does not keep the rest from being taken; git then says so and exits with 1.
	if _, err := run(gitCall{args: []string{"add", "--all", "--ignore-errors", "--", "."}}); err != nil {
		failed, ok := errors.AsType[*childError](err)
		if !ok || failed.exit != 1 || containsAny(failed.stderr, diskFull) {
			return nil, snapshotFailed(err)
		}
		p.warnings = append(p.warnings, warning{text: "Some files could not be taken into the patch: " + lastLine(failed.stderr)})
	}
	if err := s.diff(p, run); err != nil {
		return nil, err
	}
	if p.files == 0 {
		return nil, os.Remove(to)
	}
	return p, nil
}

// diff streams the patch through the redactor into its file.
func (s *snapshot) diff(p *patch, run func(gitCall) ([]byte, error)) (err error) {
	file, err := os.OpenFile(p.file, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return snapshotFailed(err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	counted := &patchCounter{to: file}
	redacted := s.redact.Writer(counted)
	bounded := &limitedBuffer{to: redacted, left: s.limit}
	_, err = run(gitCall{stdout: bounded, args: []string{
		"diff", "--cached", "--binary", "--full-index", "--find-renames", "-l500", "--no-color", "--no-ext-diff", "--no-textconv",
		"--submodule=short", "--ignore-submodules=dirty", "--src-prefix=a/", "--dst-prefix=b/", s.commit,
	}})
	if bounded.left < 0 {
		return &EndError{Kind: task.EndOutputLimit, Limit: LimitOutput, Text: "The changes are larger than the output limit.", Err: err}
	}
	if err != nil {
		return snapshotFailed(err)
	}
	if err := redacted.Close(); err != nil {
		return snapshotFailed(err)
	}
	p.files, p.redacted = counted.files, redacted.Found()
	if counted.embedded > 0 {
		p.warnings = append(p.warnings, warning{text: "The agent made git repositories inside the workspace; the patch names their commits and holds none of their files."})
	}
	return nil
}

// snapshotFailed gives an error of a snapshot its kind.
func snapshotFailed(err error) *EndError {
	if f, ok := errors.AsType[*EndError](err); ok {
		return f
	}
	failed, ok := errors.AsType[*childError](err)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return &EndError{Kind: task.EndOutputLimit, Limit: LimitOutput, Text: "The changes could not be taken as a patch in time: they are too many or too large.", Err: err}
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return failuref(task.EndStorageFull, err, "%s", storageFull)
	case !ok:
	case failed.killed():
		return failuref(task.EndOutOfMemory, err, "What takes the changes as a patch was killed, most likely since the sandbox has no memory left.")
	case containsAny(failed.stderr, diskFull):
		return failuref(task.EndStorageFull, err, "%s", storageFull)
	}
	return failuref(task.EndInternal, err, "The changes could not be taken as a patch: %v", err)
}

// restore puts a patch back into a fresh workspace, before the agent exists. git refuses paths outside the workspace,
// in .git, and behind symlinks. Errors: *EndError of kind storage_full or internal.
func restore(ctx context.Context, g git, workspace string, content io.Reader) error {
	_, err := g.run(ctx, gitCall{
		args: []string{"--git-dir=" + filepath.Join(workspace, ".git"), "--work-tree=" + workspace, "apply", "--binary", "--whitespace=nowarn", "-"},
		dir:  workspace, stdin: content,
	})
	if err == nil {
		return nil
	}
	f := snapshotFailed(err)
	if f.Kind == task.EndInternal {
		f.Text = "The changes of the earlier attempt could not be put back on the pinned commit: " + f.Err.Error()
	}
	return f
}

// patchCounter counts the files of a patch that passes through it, and the repositories that the agent made inside the
// workspace. Lines of content begin with another character than these headers do.
type patchCounter struct {
	to       io.Writer
	files    int
	embedded int
	line     []byte // the beginning of the present line
}

const (
	headerFile     = "diff --git "
	headerEmbedded = "new file mode 160000"
)

func (c *patchCounter) Write(p []byte) (int, error) {
	for _, b := range p {
		switch {
		case b == '\n':
			if bytes.HasPrefix(c.line, []byte(headerFile)) {
				c.files++
			}
			if string(c.line) == headerEmbedded {
				c.embedded++
			}
			c.line = c.line[:0]
		case len(c.line) <= len(headerEmbedded):
			c.line = append(c.line, b)
		}
	}
	return c.to.Write(p)
}
