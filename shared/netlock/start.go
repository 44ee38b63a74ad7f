//go:build linux && (amd64 || arm64)

package netlock

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"reflect"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// How long shim and supervisor may take over their exchange is the context's
// business: a killed shim closes its end.

func validateAttr(a *syscall.SysProcAttr) error {
	if a == nil {
		return nil
	}
	ok := syscall.SysProcAttr{
		Setsid: a.Setsid, Setpgid: a.Setpgid, Pgid: a.Pgid, Setctty: a.Setctty, Ctty: a.Ctty, Noctty: a.Noctty,
		Foreground: a.Foreground, Pdeathsig: a.Pdeathsig, PidFD: a.PidFD,
	}
	if !reflect.DeepEqual(*a, ok) {
		return &PolicyError{"of SysProcAttr only sessions, process groups, terminals, Pdeathsig and PidFD may be set", ""}
	}
	return nil
}

func leadsGroup(a *syscall.SysProcAttr) bool {
	return a != nil && (a.Setsid || a.Foreground || a.Setpgid && a.Pgid == 0)
}

// start runs the shim, takes the listener from it, serves it, and lets the shim
// become the command.
func (c *Cmd) start() (err error) {
	sp, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("netlock: %w", err)
	}
	ours, theirs := os.NewFile(uintptr(sp[0]), "netlock"), os.NewFile(uintptr(sp[1]), "netlock-shim")
	defer ours.Close()
	defer theirs.Close()
	conf := shimConfig{
		Path: c.Path, Args: c.Args, Env: c.Environ(), Netlink: c.policy.Netlink,
		UID: c.policy.UID, GID: c.policy.GID, ReadWrite: c.policy.ReadWrite, ReadOnly: c.policy.ReadOnly,
	}
	if c.SysProcAttr != nil {
		conf.Pdeathsig = c.SysProcAttr.Pdeathsig
	}
	if c.policy.shared(identity{uid: os.Geteuid()}) {
		// A program of the same user must not read or trace the one that holds the listener.
		if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
			return fmt.Errorf("netlock: not dumpable: %w", err)
		}
	}
	if err := c.startShim(theirs); err != nil {
		return err
	}
	theirs.Close()
	if c.held, err = c.handshake(ours, conf); err != nil {
		_ = c.Process.Kill() // it may be gone already
		_ = c.Cmd.Wait()
		if c.held != nil {
			c.held.close()
		}
		return err
	}
	return nil
}

// startShim starts the shim in place of the command, with an environment of its
// own: what the command is to get (LD_PRELOAD, …) must not act on the shim.
func (c *Cmd) startShim(fd3 *os.File) error {
	path, args, env := c.Path, c.Args, c.Env
	c.Path, c.Args, c.ExtraFiles = "/proc/self/exe", []string{shimName}, []*os.File{fd3}
	c.Env = []string{"GOMAXPROCS=1", "GOGC=off"} // it lives for a millisecond or two: one thread, no garbage collection
	err := c.Cmd.Start()
	c.Path, c.Args, c.Env, c.ExtraFiles = path, args, env, nil
	if err != nil {
		return fmt.Errorf("netlock: %w", err)
	}
	return nil
}

func (c *Cmd) handshake(ours *os.File, conf shimConfig) (*lock, error) {
	if err := writeFrame(ours, conf); err != nil {
		return nil, fmt.Errorf("%w (the shim did not take its configuration: %w)", ErrNotReexecuted, err)
	}
	fd, firm, err := receiveListener(ours)
	if err != nil {
		return nil, err
	}
	l, err := newLock(c.policy, fd, firm, c.Events)
	if err != nil {
		return nil, err
	}
	if _, err := ours.Write([]byte{shimGo}); err != nil {
		return l, fmt.Errorf("netlock: the shim is gone: %w", err)
	}
	rest, err := io.ReadAll(ours) // ends when exec closes the shim's end
	if err == nil && len(rest) > 0 {
		err = decodeShimError(rest)
	}
	return l, err
}

// writeFrame sends v as JSON with its length before it.
func writeFrame(w io.Writer, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(binary.NativeEndian.AppendUint32(nil, uint32(len(b))), b...))
	return err
}

// receiveListener takes the shim's answer: the listener's descriptor and
// whether signals leave received calls alone, or why there is none.
func receiveListener(ours *os.File) (fd int, firm bool, err error) {
	oob := make([]byte, unix.CmsgSpace(4))
	buf := make([]byte, 1<<12)
	var n, on int
	for {
		n, on, _, _, err = unix.Recvmsg(int(ours.Fd()), buf, oob, unix.MSG_CMSG_CLOEXEC)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	switch {
	case err != nil:
		return -1, false, fmt.Errorf("netlock: shim: %w", err)
	case n == 0:
		return -1, false, fmt.Errorf("%w (the shim ended without a word)", ErrNotReexecuted)
	case on == 0:
		rest, _ := io.ReadAll(ours)
		return -1, false, decodeShimError(append(buf[:n], rest...))
	}
	ms, err := unix.ParseSocketControlMessage(oob[:on])
	if err != nil || len(ms) != 1 {
		return -1, false, fmt.Errorf("netlock: shim sent no listener: %w", err)
	}
	fds, err := unix.ParseUnixRights(&ms[0])
	if err != nil || len(fds) != 1 {
		return -1, false, fmt.Errorf("netlock: shim sent no listener: %w", err)
	}
	return fds[0], buf[0] == shimFirm, nil
}

// decodeShimError turns what the shim reported into the error of Start.
func decodeShimError(b []byte) error {
	var e shimError
	if err := json.Unmarshal(b, &e); err != nil {
		return fmt.Errorf("netlock: shim said %q", b)
	}
	cause := error(syscall.Errno(e.Errno))
	if e.Errno == 0 {
		cause = errors.New(e.Text)
	}
	switch {
	case e.Step == stepExec:
		return &fs.PathError{Op: "netlock exec", Path: e.Text, Err: cause}
	case e.Step == stepFilter && errors.Is(cause, unix.EBUSY):
		return ErrBusy
	case e.Step == stepFilter:
		return fmt.Errorf("%w: the kernel or a container's profile refuses the filter: %w", ErrUnsupported, cause)
	case e.Step == stepLandlock:
		return fmt.Errorf("%w: Landlock: %s", ErrUnsupported, e.Text)
	case e.Step == stepStdio:
		return &PolicyError{"standard descriptors are files, terminals, pipes or unix streams", e.Text}
	}
	return fmt.Errorf("netlock: %s: %s: %w", e.Step, e.Text, cause)
}

// asChild runs f, with the child's user id where that differs: a thread of its
// own takes it and ends with it.
func (c *Cmd) asChild(f func() error) error {
	if err := f(); c.policy.UID == 0 || !errors.Is(err, unix.EPERM) {
		return err
	}
	errc := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread is not used again
		if err := become(c.policy.UID, c.policy.GID); err != nil {
			errc <- err
			return
		}
		errc <- f()
	}()
	return <-errc
}

// become gives the calling thread, which must be locked and never unlocked, the
// child's effective user and group. Its real and saved user stay the
// supervisor's, so that the child cannot signal it; /proc/PID/mem goes by the
// effective one. Of capabilities it keeps CAP_SYS_PTRACE, if there: Yama's
// ptrace_scope 2 and children that are not dumpable need it.
func become(uid, gid int) error {
	const keep = ^uintptr(0)
	g := uint32(gid)
	_, _, e0 := unix.RawSyscall(unix.SYS_SETGROUPS, 1, uintptr(unsafe.Pointer(&g)), 0)
	_, _, e1 := unix.RawSyscall(unix.SYS_SETRESGID, keep, uintptr(gid), keep)
	_, _, e2 := unix.RawSyscall(unix.SYS_SETRESUID, keep, uintptr(uid), keep)
	for _, e := range []unix.Errno{e0, e1, e2} {
		if e != 0 {
			return fmt.Errorf("netlock: taking the child's user (CAP_SETUID, CAP_SETGID): %w", e)
		}
	}
	h := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var d [2]unix.CapUserData
	if err := unix.Capget(&h, &d[0]); err != nil {
		return fmt.Errorf("netlock: capget: %w", err)
	}
	d[0].Effective, d[1].Effective = d[0].Permitted&(1<<unix.CAP_SYS_PTRACE), 0
	if err := unix.Capset(&h, &d[0]); err != nil {
		return fmt.Errorf("netlock: capset: %w", err)
	}
	// The change of user did this, unless the machine is set to dump such programs (fs.suid_dumpable).
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("netlock: not dumpable: %w", err)
	}
	return nil
}
