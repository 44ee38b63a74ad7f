//go:build !linux

package agent

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// attributes gives a child a process group of its own and the user.
func attributes(user *User) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setpgid: true}
	if user != nil {
		a.Credential = &syscall.Credential{Uid: uint32(user.UID), Gid: uint32(user.GID)}
	}
	return a
}

// seal leaves no core; this system has no more to offer to an ordinary process.
func seal() error { return unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}) }

// confine has nothing to do here.
func confine() error { return nil }
