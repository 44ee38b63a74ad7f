//go:build linux && (amd64 || arm64)

package netlock

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// playRole is the main function of the programs that tests run under the lock,
// or that run a lock themselves.
func playRole(role string) int {
	args := strings.Fields(os.Getenv("NETLOCK_TEST_ARGS"))
	switch role {
	case "dial": // each address: what came of it
		for _, a := range args {
			fmt.Println(dialErrno(a))
		}
	case "nested":
		err := Command(context.Background(), Policy{Allow: []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:1")}, ReadOnly: []string{"/"}}, "/bin/true").Run()
		fmt.Println(errors.Is(err, ErrBusy), err)
	case "supervisor":
		return supervisorRole(args)
	case "daemon": // leaves a process behind that dials when the first is gone
		c := exec.Command("/proc/self/exe")
		c.Env = []string{roleEnv + "=late", "NETLOCK_TEST_ARGS=" + strings.Join(args, " ")}
		c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := c.Start(); err != nil {
			fmt.Println(err)
			return 1
		}
	case "late": // waits for the file named first, then dials the rest and writes what came of it
		for range 500 {
			if _, err := os.Stat(args[0] + "/go"); err == nil {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		var out []string
		for _, a := range args[1:] {
			out = append(out, dialErrno(a))
		}
		return writeResult(args[0], strings.Join(out, " "))
	case "flood":
		n, err := strconv.Atoi(args[0])
		if err != nil {
			return 2
		}
		for i := range n {
			dialErrno(fmt.Sprintf("127.0.0.1:%d", 1+i%2000))
		}
		fmt.Println(dialErrno(args[1]))
	case "connect": // times connects to the address
		return connectRole(args)
	case "http": // gets each URL
		for _, u := range args {
			fmt.Println(getURL(u))
		}
	case "run": // runs the rest so many times and prints the processor time that took, in nanoseconds
		return runRole(args)
	case "calls": // makes a system call so many times
		n, err := strconv.Atoi(args[1])
		nr, ok := map[string]uintptr{"read": unix.SYS_READ, "getppid": unix.SYS_GETPPID, "ioctl": unix.SYS_IOCTL}[args[0]]
		if err != nil || !ok {
			return 2
		}
		begin := time.Now()
		for range n {
			_, _, _ = unix.RawSyscall(nr, ^uintptr(0), 0, 0)
		}
		fmt.Println(time.Since(begin).Nanoseconds() / int64(max(n, 1)))
	case "sleep":
		time.Sleep(time.Hour)
	case "touch":
		return writeResult(args[0], "")
	case "become": // keeps the capabilities named, takes a user id, and runs the rest
		fmt.Println(becomeRole(args))
		return 1
	default:
		if f, ok := attackRoles()[role]; ok {
			return f()
		}
		return 2
	}
	return 0
}

// becomeRole takes away capabilities for good: args are those to keep as a hex
// mask, a user id, and a program.
func becomeRole(args []string) error {
	runtime.LockOSThread()
	keep, err := strconv.ParseUint(args[0], 16, 64)
	if err != nil {
		return err
	}
	uid, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	for c := range uintptr(unix.CAP_LAST_CAP + 1) {
		if keep&(1<<c) == 0 {
			_ = unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0) // a kernel may know fewer
		}
	}
	if uid != 0 {
		if err := errors.Join(unix.Setgroups(nil), unix.Setresgid(uid, uid, uid), unix.Setresuid(uid, uid, uid)); err != nil {
			return err
		}
	}
	os.Unsetenv(roleEnv)
	return syscall.Exec(args[2], args[2:], os.Environ())
}

func writeResult(dir, s string) int {
	if err := os.WriteFile(dir+"/result.new", []byte(s), 0o644); err != nil {
		return 3
	}
	if err := os.Rename(dir+"/result.new", dir+"/result"); err != nil {
		return 4
	}
	return 0
}

// dialErrno makes one plain attempt: "ok" or the errno's name.
func dialErrno(a string) string {
	family, sa := unix.AF_INET, unix.Sockaddr(nil)
	switch {
	case strings.HasPrefix(a, "udp:"):
		s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return unix.ErrnoName(err.(unix.Errno))
		}
		unix.Close(s)
		return "ok"
	case strings.HasPrefix(a, "unix:"):
		family, sa = unix.AF_UNIX, &unix.SockaddrUnix{Name: a[5:]}
	default:
		ap, err := netip.ParseAddrPort(a)
		if err != nil {
			return err.Error()
		}
		sa = &unix.SockaddrInet4{Port: int(ap.Port()), Addr: ap.Addr().As4()}
	}
	s, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return unix.ErrnoName(err.(unix.Errno))
	}
	defer unix.Close(s)
	if err := unix.Connect(s, sa); err != nil {
		return unix.ErrnoName(err.(unix.Errno))
	}
	return "ok"
}

func runRole(args []string) int {
	n, err := strconv.Atoi(args[0])
	for range n {
		if err == nil {
			err = exec.Command(args[1], args[2:]...).Run()
		}
	}
	var u unix.Rusage
	if err == nil {
		err = unix.Getrusage(unix.RUSAGE_CHILDREN, &u)
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println(u.Utime.Nano() + u.Stime.Nano())
	return 0
}

// getURL is a page, or why there is none.
func getURL(u string) string {
	r, err := http.Get(u)
	var dns *net.DNSError
	switch {
	case errors.As(err, &dns):
		return "lookup refused"
	case errors.Is(err, unix.ECONNREFUSED):
		return "connection refused"
	case err != nil:
		return err.Error()
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// supervisorRole holds a lock over a "late" command until it is killed.
func supervisorRole(args []string) int {
	uid, err := strconv.Atoi(args[0])
	if err != nil {
		return 2
	}
	p := Policy{Allow: []netip.AddrPort{netip.MustParseAddrPort(args[2])}, UID: uid, GID: uid}
	if uid == 0 {
		p.ReadOnly, p.ReadWrite = []string{"/"}, []string{args[1]}
	}
	c := Command(context.Background(), p, "/proc/self/exe")
	c.Env = []string{roleEnv + "=late", "NETLOCK_TEST_ARGS=" + strings.Join(args[1:], " ")}
	if err := c.Start(); err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("up")
	_ = c.Wait()
	return 0
}

// connectRole connects args[1] times and prints nanoseconds of the median.
func connectRole(args []string) int {
	n, err := strconv.Atoi(args[1])
	if err != nil {
		return 2
	}
	times := make([]time.Duration, n)
	for i := range times {
		begin := time.Now()
		c, err := net.Dial("tcp4", args[0])
		times[i] = time.Since(begin)
		if err != nil {
			fmt.Println(err)
			return 1
		}
		c.Close()
	}
	fmt.Println(median(times).Nanoseconds())
	return 0
}

// roleCommand is the test binary under the lock, in a role.
func roleCommand(t testing.TB, p Policy, role string, args ...string) *Cmd {
	t.Helper()
	if p.locksPaths() {
		exe, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		p.ReadOnly = append([]string{exe, "/proc"}, p.ReadOnly...)
	}
	c := Command(t.Context(), p, "/proc/self/exe")
	c.Args = []string{"role"}
	c.Env = []string{roleEnv + "=" + role, "NETLOCK_TEST_ARGS=" + strings.Join(args, " ")}
	c.Dir = "/"
	return c
}

// broker is a server that may be reached; it counts who came.
func broker(t testing.TB) (netip.AddrPort, *sinks) {
	t.Helper()
	s, err := openSinks()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.close)
	return s.allowed, s
}

// sharedDir is a directory that the command can write to, whoever it is.
func sharedDir(t testing.TB) string {
	t.Helper()
	p := Policy{}
	if os.Geteuid() == 0 {
		p.UID = testUser
	}
	dir, err := probeDir(p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
