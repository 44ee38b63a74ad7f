package process

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/google/uuid"

	"companyos/shared/agent/proctree"
	"companyos/shared/task"
)

// record is what is known of a launch. PID and Start name the supervisor's process within one start of the machine.
type record struct {
	PID       int          `json:"pid,omitempty"`
	Start     string       `json:"start,omitempty"`
	Boot      string       `json:"boot,omitempty"`
	UID       int          `json:"uid,omitempty"` // the agent's, where it has its own
	Dir       string       `json:"dir,omitempty"`
	StartedAt time.Time    `json:"started_at,omitzero"`
	Failed    string       `json:"failed,omitempty"` // why nothing was started
	Reason    task.EndKind `json:"reason,omitempty"`
}

// write makes the record last before anybody acts on it.
func (r *record) write(file *os.File) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if _, err := file.WriteAt(append(text, '\n'), 0); err != nil {
		return err
	}
	return file.Sync()
}

// readRecord reads a record; starting says that it is empty and its launcher is still at it.
func readRecord(path string) (rec record, starting bool, err error) {
	file, err := os.Open(path)
	if err != nil {
		return rec, false, err
	}
	defer file.Close()
	lock := syscall.Flock(int(file.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	text, err := io.ReadAll(io.LimitReader(file, 64<<10))
	if err != nil {
		return rec, false, err
	}
	if json.Unmarshal(text, &rec) != nil { // empty, or torn by a crash before anything got a token
		return record{}, errors.Is(lock, syscall.EWOULDBLOCK), nil
	}
	return rec, false, nil
}

// alive says that the supervisor runs.
func (r *record) alive() bool {
	return r.PID > 0 && r.Boot == proctree.Boot() && proctree.Same(r.PID, r.Start)
}

// isHandle tells a record from the files beside it.
func isHandle(name string) bool {
	if len(name) < 38 || name[36] != '-' {
		return false
	}
	id, err := uuid.Parse(name[:36])
	n, errN := strconv.Atoi(name[37:])
	return err == nil && errN == nil && n > 0 && id.String() == name[:36]
}

// The users of agents: a range that no distribution gives to people, and that fits into a user namespace of 65536.
const (
	firstUID = 61184
	lastUID  = 65519
)

// nextUIDs holds the next user of this host. It is one file for all data folders: the end of a sandbox kills whatever its
// user runs, so two launchers must not choose the same one, also before either runs anything.
const nextUIDs = "/var/run/company-next-uid"

// nextUID chooses a user that runs nothing. Users go round, so that one is not used again soon.
func nextUID() (int, error) {
	file, err := os.OpenFile(nextUIDs, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		return 0, os.NewSyscallError("flock", err)
	}
	text, err := io.ReadAll(io.LimitReader(file, 32))
	if err != nil {
		return 0, err
	}
	next, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || next < firstUID || next > lastUID {
		next = firstUID
	}
	taken, err := usedUIDs()
	if err != nil {
		return 0, err
	}
	for range lastUID - firstUID {
		uid := next
		if next++; next > lastUID {
			next = firstUID
		}
		if !taken[uid] {
			if err := file.Truncate(0); err != nil {
				return 0, err
			}
			_, err := file.WriteAt([]byte(strconv.Itoa(next)), 0)
			return uid, err
		}
	}
	return 0, errors.New("every user for agents runs something")
}

func usedUIDs() (map[int]bool, error) {
	all, err := proctree.List()
	if err != nil {
		return nil, err
	}
	used := map[int]bool{}
	for _, p := range all {
		used[p.UID] = true
	}
	return used, nil
}

// filesDir makes the directory for checkouts. As root the agents' users must be able to pass through its parents, which
// are often closed to others, so it is below the system's temporary directory then, named after the data directory.
func (l *Launcher) filesDir() error {
	mode := os.FileMode(0o700)
	if l.root {
		mode = 0o711
	}
	if l.Files == "" {
		l.Files = l.launches
		if !l.root {
			return nil
		}
		name := uuid.NewSHA1(uuid.NameSpaceURL, []byte(l.Dir)).String()
		l.Files = filepath.Join(os.TempDir(), "company-"+name)
	}
	if err := os.MkdirAll(l.Files, mode); err != nil {
		return err
	}
	// Somebody else may have made it first in a directory that everybody can write.
	info, err := os.Lstat(l.Files)
	if err != nil {
		return err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || !ok || int(stat.Uid) != os.Getuid() {
		return fmt.Errorf("%s belongs to somebody else; remove it or choose another directory", l.Files)
	}
	return os.Chmod(l.Files, mode)
}
