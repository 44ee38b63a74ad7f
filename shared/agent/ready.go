package agent

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// pinnedIndex is git's index of the checkout as it was before there was an agent, below the base repository: what a
// snapshot compares with, so that git reads the files that changed and no others.
const pinnedIndex = "checkout.index"

// ready prepares the ground for a snapshot, as the agent's user: a throw-away git directory whose index is the pin's,
// and nothing that the agent may have left in its place. When the agent's processes are gone, trees are the agent's
// folders, which it may have closed to itself or set traps in.
func ready(base, dir string, trees []string) error {
	for _, tree := range append(trees, dir) {
		unlock(tree)
	}
	if err := os.RemoveAll(dir); err != nil { //nolint:gosec // the supervisor names it
		return err
	}
	if err := emptyRepository(dir, true); err != nil {
		return err
	}
	return copyIndex(filepath.Join(base, pinnedIndex), filepath.Join(dir, "index"))
}

// unlock opens the folders of a tree to their owner and removes pipes: git waits for ever for a writer where it looks for a
// file of its own, such as .gitignore. What resists is left to whoever reads the tree. Links are not followed.
func unlock(tree string) {
	//nolint:gosec,nilerr // it runs as the user that owns the tree, who can be led to nothing that it could not open itself
	_ = filepath.WalkDir(tree, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
		case entry.IsDir():
			if info, err := entry.Info(); err == nil && info.Mode().Perm()&0o700 != 0o700 {
				_ = os.Chmod(path, info.Mode().Perm()|0o700)
			}
		case entry.Type() == fs.ModeNamedPipe:
			_ = os.Remove(path)
		}
		return nil
	})
}

// copyIndex copies an index with its time, by which git knows the files that changed in the instant it was written.
func copyIndex(from, to string) (err error) {
	source, err := os.Open(from) //nolint:gosec // the supervisor names it
	if err != nil {
		return err
	}
	defer source.Close()
	info, err := source.Stat()
	if err != nil {
		return err
	}
	target, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644) //nolint:gosec // the agent reads the pin's
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	if err := errors.Join(err, target.Close()); err != nil {
		return err
	}
	return os.Chtimes(to, info.ModTime(), info.ModTime())
}
