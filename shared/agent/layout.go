package agent

import (
	"os"
	"path/filepath"
)

// layout is where a launch keeps its files. The top is the supervisor's and only the agent's group passes through it.
type layout struct {
	private   string // the supervisor's alone: patch, transcript, log, result on their way out
	base      string // the pinned objects, read-only for the agent
	empty     string // home and working directory of git
	workspace string // the agent's checkout
	home      string // the agent's home, made afresh
	scratch   string // the agent's TMPDIR
	probe     string // of the lock's self-test; the agent passes through
}

// newLayout makes the directories below dir. The workspace is made by the checkout.
func newLayout(dir string, user *User) (layout, error) {
	l := layout{
		private: filepath.Join(dir, "private"), base: filepath.Join(dir, "base.git"), empty: filepath.Join(dir, "empty"),
		workspace: filepath.Join(dir, "workspace"), home: filepath.Join(dir, "home"), scratch: filepath.Join(dir, "tmp"),
		probe: filepath.Join(dir, "probe"),
	}
	mode := os.FileMode(0o700)
	if user != nil {
		mode = 0o710
	}
	if err := os.MkdirAll(dir, mode); err != nil {
		return l, err
	}
	if user != nil {
		if err := os.Chown(dir, os.Getuid(), user.GID); err != nil {
			return l, err
		}
	}
	if err := os.Chmod(dir, mode); err != nil {
		return l, err
	}
	for path, mode := range map[string]os.FileMode{l.private: 0o700, l.empty: 0o755, l.home: 0o700, l.scratch: 0o700, l.probe: 0o711} {
		if err := os.Mkdir(path, mode); err != nil {
			return l, err
		}
	}
	return l, nil
}

// hand gives the agent's directories to its user, when the supervisor has put into them what it has to.
func (l layout) hand(user *User) error {
	for _, path := range []string{l.home, l.scratch} {
		if err := chownTree(path, user); err != nil {
			return err
		}
	}
	return nil
}
