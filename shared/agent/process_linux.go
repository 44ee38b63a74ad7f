package agent

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// attributes gives a child a process group of its own and the user, and ends it with the supervisor: the kernel kills
// it when the supervisor dies, whatever killed that, or when the thread that started it ends (see program.Start).
func attributes(user *User) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if user != nil {
		a.Credential = &syscall.Credential{Uid: uint32(user.UID), Gid: uint32(user.GID)}
	}
	return a
}

// seal hides the supervisor before it holds a secret: nobody of its user may read its memory, environment or
// descriptors, and it leaves no core. It also makes it the parent of every orphan below it, so that no process of the
// agent's can leave its tree.
func seal() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return os.NewSyscallError("prctl(PR_SET_DUMPABLE)", err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return os.NewSyscallError("setrlimit(RLIMIT_CORE)", err)
	}
	return os.NewSyscallError("prctl(PR_SET_CHILD_SUBREAPER)", unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
}

// confine is what a process does to itself before it becomes the agent: it can gain no privilege by any program that it
// starts. The caller is on a locked thread and replaces itself on it.
func confine() error {
	return os.NewSyscallError("prctl(PR_SET_NO_NEW_PRIVS)", unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
}
