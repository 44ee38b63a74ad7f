//go:build linux && (amd64 || arm64)

package netlock

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The shim is the second execution of the supervisor's binary, which becomes
// the command. Descriptor 3 is its line to the supervisor.
const shimFD = 3

// What the two say to each other in a byte.
const (
	shimFirm  = 'f' // here is the listener; signals do not end received calls
	shimLoose = 'l' // here is the listener; they do
	shimGo    = 'g' // the supervisor serves it
)

type shimConfig struct {
	Path                string
	Args, Env           []string
	Netlink             bool
	ReadWrite, ReadOnly []string
	UID, GID            int // 0: stay
	Pdeathsig           syscall.Signal
}

// Steps of the shim that can fail.
const (
	stepConfig   = "configuration"
	stepStdio    = "standard descriptors"
	stepLandlock = "landlock"
	stepFilter   = "filter"
	stepUser     = "user"
	stepExec     = "exec"
)

type shimError struct {
	Step, Text string
	Errno      int
}

func (e shimError) Error() string { return e.Step + ": " + e.Text }

func failed(step string, err error) error {
	e := shimError{Step: step, Text: err.Error()}
	var no syscall.Errno
	if errors.As(err, &no) {
		e.Errno = int(no)
	}
	return e
}

// shim never returns: it becomes the command or reports and exits.
func shim() {
	runtime.LockOSThread()
	line := os.NewFile(shimFD, "netlock")
	err := becomeCommand(line)
	var e shimError
	if !errors.As(err, &e) {
		e = shimError{Step: stepConfig, Text: fmt.Sprint(err)}
	}
	b, _ := json.Marshal(e) // strings and a number
	if _, err := line.Write(b); err != nil {
		fmt.Fprintln(os.Stderr, "netlock:", e, "(this program is started by netlock alone)")
	}
	os.Exit(126)
}

// becomeCommand goes, in this order: nobody may look into the shim; no network
// through descriptors 0 to 2; Landlock; the filter; the supervisor serves; no
// other descriptor; the command's user; exec. The filter comes before the user,
// so that no process of that user ever sees an unfiltered one of its own.
func becomeCommand(line *os.File) error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return failed(stepConfig, err)
	}
	c, err := readConfig(line)
	if err != nil {
		return failed(stepConfig, err)
	}
	for fd := range shimFD {
		if err := checkStdio(fd); err != nil {
			return failed(stepStdio, err)
		}
	}
	if len(c.ReadWrite)+len(c.ReadOnly) > 0 {
		if err := restrictPaths(c.ReadWrite, c.ReadOnly); err != nil {
			return failed(stepLandlock, err)
		}
	}
	listener, firm, err := assemble(table(c.Netlink)).install()
	if err != nil {
		return failed(stepFilter, err)
	}
	if err := handOver(line, listener, firm); err != nil {
		return failed(stepFilter, err)
	}
	if err := closeOnExec(); err != nil {
		return failed(stepExec, err)
	}
	if err := dropTo(c.UID, c.GID); err != nil {
		return failed(stepUser, err)
	}
	if c.Pdeathsig != 0 { // a change of user clears it
		if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(c.Pdeathsig), 0, 0, 0); err != nil {
			return failed(stepExec, err)
		}
	}
	err = syscall.Exec(c.Path, c.Args, c.Env)
	var no syscall.Errno
	errors.As(err, &no)
	return shimError{Step: stepExec, Text: c.Path, Errno: int(no)}
}

func readConfig(line io.Reader) (c shimConfig, err error) {
	var size [4]byte
	if _, err := io.ReadFull(line, size[:]); err != nil {
		return c, err
	}
	b := make([]byte, binary.NativeEndian.Uint32(size[:]))
	if _, err := io.ReadFull(line, b); err != nil {
		return c, err
	}
	return c, json.Unmarshal(b, &c)
}

// checkStdio refuses a descriptor through which the command could walk past the
// filter: a network socket, a datagram socket (it can name a peer in each
// message), a tunnel device, a descriptor of the kernel's own (io_uring).
func checkStdio(fd int) error {
	var st unix.Stat_t
	err := unix.Fstat(fd, &st)
	if errors.Is(err, unix.EBADF) {
		return nil
	}
	if err != nil {
		return err
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG, unix.S_IFDIR, unix.S_IFIFO:
		return nil
	case unix.S_IFCHR:
		if st.Rdev == unix.Mkdev(10, 200) {
			return fmt.Errorf("descriptor %d is a tunnel device", fd)
		}
		return nil
	case unix.S_IFSOCK:
		domain, e1 := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN)
		kind, e2 := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
		if e1 == nil && e2 == nil && domain == unix.AF_UNIX && (kind == unix.SOCK_STREAM || kind == unix.SOCK_SEQPACKET) {
			return nil
		}
		return fmt.Errorf("descriptor %d is a socket of family %d, type %d", fd, domain, kind)
	}
	return fmt.Errorf("descriptor %d is of kind %#o", fd, st.Mode&unix.S_IFMT)
}

// handOver gives the listener to the supervisor, keeps none, and waits until it serves.
func handOver(line *os.File, listener int, firm bool) error {
	hello := []byte{shimLoose}
	if firm {
		hello[0] = shimFirm
	}
	if err := unix.Sendmsg(shimFD, hello, unix.UnixRights(listener), nil, 0); err != nil {
		return fmt.Errorf("hand over: %w", err)
	}
	if err := unix.Close(listener); err != nil {
		return fmt.Errorf("hand over: %w", err)
	}
	var b [1]byte
	if _, err := io.ReadFull(line, b[:]); err != nil || b[0] != shimGo {
		return fmt.Errorf("the supervisor does not serve: %w", err)
	}
	return nil
}

// closeOnExec leaves descriptors 0 to 2 to the command.
func closeOnExec() error {
	if unix.CloseRange(shimFD, ^uint(0), unix.CLOSE_RANGE_CLOEXEC) == nil { // 5.11
		return nil
	}
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, f := range open {
		if fd, err := strconv.Atoi(f.Name()); err == nil && fd >= shimFD {
			unix.CloseOnExec(fd)
		}
	}
	return nil
}

// dropTo gives this thread, the one that execs, the command's user and no
// capability at all.
func dropTo(uid, gid int) error {
	if uid != 0 {
		g := uint32(gid)
		_, _, e0 := unix.RawSyscall(unix.SYS_SETGROUPS, 1, uintptr(unsafe.Pointer(&g)), 0)
		_, _, e1 := unix.RawSyscall(unix.SYS_SETRESGID, uintptr(gid), uintptr(gid), uintptr(gid))
		_, _, e2 := unix.RawSyscall(unix.SYS_SETRESUID, uintptr(uid), uintptr(uid), uintptr(uid))
		for _, e := range []unix.Errno{e0, e1, e2} {
			if e != 0 {
				return fmt.Errorf("taking the command's user (CAP_SETUID, CAP_SETGID): %w", e)
			}
		}
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("ambient capabilities: %w", err)
	}
	h := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&h, &none[0]); err != nil {
		return fmt.Errorf("capabilities: %w", err)
	}
	if os.Geteuid() == 0 {
		return errors.New("the command would run as root")
	}
	return nil
}
