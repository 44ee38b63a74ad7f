//go:build linux && (amd64 || arm64)

package netlock

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// refusedCalls: the rest of the table, and what is not in it.
func (p *prober) refusedCalls() {
	buf := p.at(1024)
	for _, r := range refused() {
		v, e := call(uintptr(r.nr), 0, 0, 0, 0, 0)
		p.refuses(r.call, v, e, unix.EPERM)
	}
	for name, nr := range map[string]uintptr{
		"io_uring_setup": unix.SYS_IO_URING_SETUP, "io_uring_enter": unix.SYS_IO_URING_ENTER, "io_uring_register": unix.SYS_IO_URING_REGISTER,
		"clone3": unix.SYS_CLONE3, "a call newer than the table": lastKnown + 1, "a call far beyond": 100000,
	} {
		clear(p.page[1024:2048])
		v, e := call(nr, 8, buf, 0)
		p.refuses(name, v, e, unix.ENOSYS)
	}
	name := p.put([]byte("dns_resolver\x00evil.example\x00"))
	v, e := call(unix.SYS_REQUEST_KEY, name, name+13, 0, 0)
	p.refuses("request_key dns_resolver", v, e, unix.EPERM)
	filter := []unix.SockFilter{{Code: unix.BPF_RET, K: unix.SECCOMP_RET_ALLOW}}
	prog := unix.SockFprog{Len: 1, Filter: &filter[0]}
	r, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, uintptr(unsafe.Pointer(&prog)))
	p.refuses("a second listener", r, e, unix.EBUSY)
	r, _, e = unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&prog)))
	p.report("a filter of its own that allows all", e == 0, "r=%d errno=%d", int64(r), int(e))
	v, e = p.dial(unix.AF_INET, inet4(p.conf.Evil4))
	p.refuses("connect under that filter", v, e)
	tun, err := os.OpenFile("/dev/net/tun", os.O_RDWR, 0)
	ok := err != nil
	if err == nil {
		_, e := call(unix.SYS_IOCTL, tun.Fd(), unix.TUNSETIFF, p.put(append(make([]byte, 16), 1, 0)))
		ok = e != 0
		tun.Close()
	}
	p.report("tunnel device", ok, "%v", err)
}

func (p *prober) namespaces() {
	for name, flag := range map[string]uintptr{
		"user": unix.CLONE_NEWUSER, "net": unix.CLONE_NEWNET, "user and net": unix.CLONE_NEWUSER | unix.CLONE_NEWNET, "mount": unix.CLONE_NEWNS,
		"pid": unix.CLONE_NEWPID, "ipc": unix.CLONE_NEWIPC, "uts": unix.CLONE_NEWUTS, "cgroup": unix.CLONE_NEWCGROUP, "time": unix.CLONE_NEWTIME,
	} {
		v, e := call(unix.SYS_UNSHARE, flag)
		p.refuses("unshare "+name, v, e, unix.EPERM)
		if flag == unix.CLONE_NEWTIME {
			continue // in clone this bit is part of the signal
		}
		v, _, e = unix.RawSyscall6(unix.SYS_CLONE, flag|uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
		if e == 0 && v == 0 {
			_, _, _ = unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
		}
		p.refuses("clone "+name, v, e, unix.EPERM)
	}
	for _, ns := range []string{"net", "user", "mnt"} {
		f, err := os.Open("/proc/1/ns/" + ns)
		if err != nil {
			p.report("setns "+ns, true, "%v", err)
			continue
		}
		v, e := call(unix.SYS_SETNS, f.Fd(), 0)
		p.refuses("setns "+ns, v, e, unix.EPERM)
		f.Close()
	}
}

func (p *prober) terminals() {
	for name, op := range map[string]uintptr{"TIOCSTI": unix.TIOCSTI, "TIOCLINUX": 0x541c, "TIOCSETD": 0x5423, "TIOCSTI, garbage in high half": unix.TIOCSTI | 1<<32} {
		v, e := call(unix.SYS_IOCTL, 0, op, p.put([]byte{'x'}))
		p.refuses(name, v, e, unix.EPERM)
	}
}

// supervisor: the process that holds the listener.
func (p *prober) supervisor() {
	pid := os.Getppid()
	proc := fmt.Sprintf("/proc/%d/", pid)
	for _, f := range []string{"mem", "environ", "maps", "auxv", "stack", "syscall"} {
		fd, err := unix.Open(proc+f, unix.O_RDONLY, 0)
		if err == nil { // some open and refuse the read
			_, err = unix.Read(fd, make([]byte, 64))
			unix.Close(fd)
		}
		p.report("supervisor's "+f, err != nil, "%v", err)
	}
	fd, err := unix.Open(proc+"mem", unix.O_RDWR, 0)
	p.report("supervisor's mem, to write", err != nil, "fd=%d %v", fd, err)
	for _, d := range []string{"fd", "map_files", "cwd/", "root/", "fdinfo"} {
		_, err := os.ReadDir(proc + d)
		p.report("supervisor's "+d, err != nil, "%v", err)
	}
	for _, link := range []string{"exe", "ns/net", "fd/3", "fd/5"} {
		_, err := os.Readlink(proc + link)
		p.report("supervisor's "+link, err != nil, "%v", err)
	}
	v, e := call(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(pid), 0, 0)
	p.refuses("ptrace the supervisor", v, e, unix.EPERM)
	pidfd, e := call(unix.SYS_PIDFD_OPEN, uintptr(pid), 0)
	v, e2 := call(unix.SYS_PIDFD_GETFD, pidfd, 5, 0)
	p.report("take the supervisor's descriptor", e2 != 0, "r=%d errno=%d %d", int64(v), int(e), int(e2))
	if !p.conf.Signals {
		return
	}
	err = unix.Kill(pid, 0)
	p.report("signal the supervisor", err != nil, "%v", err)
	tasks, err := os.ReadDir(proc + "task")
	reached := 0
	for _, t := range tasks {
		if tid, err := strconv.Atoi(t.Name()); err == nil && unix.Tgkill(pid, tid, 0) == nil {
			reached++
		}
	}
	p.report("signal the supervisor's threads", reached == 0, "%d of %d (%v)", reached, len(tasks), err)
	v, e = call(unix.SYS_PRLIMIT64, uintptr(pid), unix.RLIMIT_NOFILE, p.at(512), 0)
	p.report("limit the supervisor's descriptors", e != 0 || p.conf.Shared, "r=%d errno=%d", int64(v), int(e))
}

// races: what changes between the look and the call.
func (p *prober) races() {
	p.raceAddress()
	p.raceDescriptor()
	p.raceSignals()
}

// beside runs f on another thread until the returned function is called.
func beside(f func()) func() {
	var stop atomic.Bool
	var done sync.WaitGroup
	done.Go(func() {
		runtime.LockOSThread()
		for !stop.Load() {
			for range 21 { // odd: whoever yields is seen in each of two states
				f()
			}
			_, _ = call(unix.SYS_SCHED_YIELD) // else the one that races waits for its turn, not for the lock
		}
	})
	return func() { stop.Store(true); done.Wait() }
}

// raceAddress changes the address between the allowed one and another.
func (p *prober) raceAddress() {
	addr := p.page[2048:2064]
	good, evil := inet4(p.conf.Allowed), inet4(p.conf.Evil4)
	copy(addr, good)
	word := (*uint32)(unsafe.Pointer(&addr[0]))
	g, v := *(*uint32)(unsafe.Pointer(&good[0])), *(*uint32)(unsafe.Pointer(&evil[0]))
	values, n := [2]uint32{v, g}, 0
	stop := beside(func() { atomic.StoreUint32(word, values[n&1]); n++ })
	wins, allowed := 0, 0
	tries := p.during(func() {
		s := p.socket(unix.AF_INET, unix.SOCK_STREAM)
		if _, e := call(unix.SYS_CONNECT, uintptr(s), p.at(2048), 16); e == 0 {
			if peer(s) == p.conf.Allowed {
				allowed++
			} else {
				wins++
			}
		}
		unix.Close(s)
	})
	stop()
	p.report("race: address", wins == 0 && tries > 0, "tries=%d allowed=%d wins=%d", tries, allowed, wins)
}

// raceDescriptor changes the descriptor between a unix and a TCP socket.
func (p *prober) raceDescriptor() {
	tcp, local := p.socket(unix.AF_INET, unix.SOCK_STREAM), p.socket(unix.AF_UNIX, unix.SOCK_STREAM)
	target, err := unix.Dup(local)
	if err != nil {
		p.report("race: descriptor", false, "%v", err)
		return
	}
	fds, n := [2]int{tcp, local}, 0
	stop := beside(func() { _ = unix.Dup3(fds[n&1], target, 0); n++ })
	wins := 0
	tries := p.during(func() {
		_, _ = p.connect(target, unixAddress("/nonexistent/x"))
		_, _ = call(unix.SYS_LISTEN, uintptr(target), 1)
		if v, err := unix.GetsockoptInt(tcp, unix.SOL_SOCKET, unix.SO_ACCEPTCONN); err != nil || v != 0 || peer(tcp).IsValid() {
			wins++
		}
	})
	stop()
	for _, fd := range []int{tcp, local, target} {
		unix.Close(fd)
	}
	p.report("race: descriptor", wins == 0 && tries > 0, "tries=%d wins=%d", tries, wins)
}

// raceSignals connects under a storm of signals: each connect succeeds, to
// where it should, and no descriptor is lost that the kernel can keep.
func (p *prober) raceSignals() {
	before := countFDs()
	me := unix.Gettid()
	pid := os.Getpid()
	stop := beside(func() {
		_ = unix.Tgkill(pid, me, unix.SIGURG) // the Go runtime takes it and goes on
		time.Sleep(200 * time.Microsecond)
	})
	failed := 0
	tries := p.during(func() {
		s := p.socket(unix.AF_INET, unix.SOCK_STREAM)
		if s < 0 {
			failed++
			return
		}
		e := unix.EINTR
		for e == unix.EINTR {
			_, e = p.connect(s, inet4(p.conf.Allowed))
		}
		if e != 0 || peer(s) != p.conf.Allowed {
			failed++
		}
		unix.Close(s)
	})
	stop()
	after := countFDs()
	p.report("race: signals", failed == 0 && tries > 0 && after <= before+losable(kernelRelease(), tries), "tries=%d failed=%d descriptors=%d→%d", tries, failed, before, after)
}

// losable is how many descriptors so many sockets under signals may cost. Before
// Linux 5.14 placing one and answering are two steps, and a signal between them
// costs the command that descriptor, and nobody else anything.
func losable(release string, sockets int) int {
	var major, minor int
	if n, err := fmt.Sscanf(release, "%d.%d", &major, &minor); n == 2 && err == nil && (major < 5 || major == 5 && minor < 14) {
		return 1 + sockets/10
	}
	return 0
}

func countFDs() int {
	d, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	n := 0
	for _, f := range d {
		if l, err := os.Readlink("/proc/self/fd/" + f.Name()); err == nil && strings.HasPrefix(l, "socket:") {
			n++
		}
	}
	return n
}
