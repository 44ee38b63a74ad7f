package embedded

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// nobody is the uid and gid that every distribution leaves without files.
const nobody = 65534

// ownerOf is whose data is there, or nil when there is none.
func ownerOf(data string) (*syscall.Stat_t, error) {
	info, err := os.Stat(filepath.Join(data, "PG_VERSION"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, unwritable(data, err)
	}
	return info.Sys().(*syscall.Stat_t), nil
}

// identities are the ways to try, best first. The owner of existing data decides.
func identities(data string) ([]identity, error) {
	me := os.Geteuid()
	owner, err := ownerOf(data)
	fresh := owner == nil
	switch {
	case err != nil:
		return nil, err
	case me != 0 && !fresh && int(owner.Uid) != me:
		return nil, fmt.Errorf("%s belongs to uid %d, run as that user or choose another folder", data, owner.Uid)
	case me != 0:
		return []identity{{kind: identitySelf}}, nil
	case fresh:
		return []identity{{kind: identityNamespace}, {kind: identityOther, uid: nobody, gid: nobody}}, nil
	case owner.Uid == 0:
		return []identity{{kind: identityNamespace}}, nil
	default:
		return []identity{{kind: identityOther, uid: int(owner.Uid), gid: int(owner.Gid)}}, nil
	}
}

func (id identity) attributes() *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setsid: true}
	switch id.kind {
	case identitySelf:
	case identityNamespace:
		a.Cloneflags = syscall.CLONE_NEWUSER
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: nobody, HostID: os.Geteuid(), Size: 1}}
		a.GidMappings = []syscall.SysProcIDMap{{ContainerID: nobody, HostID: os.Getegid(), Size: 1}}
	case identityOther:
		a.Credential = &syscall.Credential{Uid: uint32(id.uid), Gid: uint32(id.gid)}
		if permitted(unix.CAP_DAC_OVERRIDE) {
			a.AmbientCaps = []uintptr{unix.CAP_DAC_OVERRIDE} // to pass through a home that only root may enter
		}
	}
	return a
}

func permitted(capability int) bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData
	if err := unix.Capget(&header, &sets[0]); err != nil {
		return false
	}
	return sets[capability/32].Permitted>>(capability%32)&1 == 1
}

// startCommand starts a program. With ambient capabilities the thread that forks first asks that a change of uid leaves
// its capabilities alone (fork and exec inherit that): else the child has lost them when it opens the program's path,
// and access(2), by which initdb and postgres find themselves, ignores them.
func startCommand(c *exec.Cmd) error {
	if len(c.SysProcAttr.AmbientCaps) == 0 {
		return c.Start()
	}
	runtime.LockOSThread()
	before, err := unix.PrctlRetInt(unix.PR_GET_SECUREBITS, 0, 0, 0, 0)
	if err == nil {
		err = unix.Prctl(unix.PR_SET_SECUREBITS, uintptr(before)|secureNoSetuidFixup, 0, 0, 0)
	}
	if err != nil { // not allowed to: where every directory is open to all it works nevertheless
		runtime.UnlockOSThread()
		return c.Start()
	}
	err = c.Start()
	if unix.Prctl(unix.PR_SET_SECUREBITS, uintptr(before), 0, 0, 0) == nil {
		runtime.UnlockOSThread()
	} // else the thread stays locked and ends with this goroutine
	return err
}

// secureNoSetuidFixup is SECBIT_NO_SETUID_FIXUP of linux/securebits.h.
const secureNoSetuidFixup = 1 << 2

func bootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
