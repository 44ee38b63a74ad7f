//go:build linux && (amd64 || arm64)

package netlock

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The attacker of the self-test: a process under the lock that tries to get
// out, by system calls, and prints what came of it.

const probeDone = "done"

// prober runs checks. Its page is memory at a fixed place for arguments.
type prober struct {
	conf probeConfig
	out  *json.Encoder
	page []byte
}

func probe() {
	runtime.LockOSThread()
	var p prober
	p.out = json.NewEncoder(os.Stdout)
	if err := json.Unmarshal([]byte(os.Getenv(probeEnv)), &p.conf); err != nil {
		fmt.Fprintln(os.Stderr, "netlock: self-test:", err)
		os.Exit(2)
	}
	page, err := unix.Mmap(-1, 0, 4*os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		fmt.Fprintln(os.Stderr, "netlock: self-test:", err)
		os.Exit(2)
	}
	p.page = page
	if p.conf.Child != "" {
		os.Exit(p.child())
	}
	for _, part := range []func(){p.self, p.addresses, p.shapes, p.fastOpen, p.options, p.kinds, p.serving, p.unixPaths, p.refusedCalls, p.namespaces, p.terminals, p.supervisor, p.children, p.races} {
		part()
	}
	p.report(probeDone, true, "")
	os.Exit(0)
}

func (p *prober) report(name string, ok bool, format string, args ...any) {
	if err := p.out.Encode(Check{name, ok, fmt.Sprintf(format, args...)}); err != nil {
		os.Exit(3)
	}
}

// refuses reports whether a call failed, with one of the errors if any are given.
func (p *prober) refuses(name string, r uintptr, e unix.Errno, want ...unix.Errno) {
	ok := e != 0
	if len(want) > 0 {
		ok = false
		for _, w := range want {
			ok = ok || e == w
		}
	}
	p.report(name, ok, "r=%d errno=%d (%v)", int64(r), int(e), e)
}

// call makes a system call.
func call(nr uintptr, args ...uintptr) (uintptr, unix.Errno) {
	var a [6]uintptr
	copy(a[:], args)
	r, _, e := unix.Syscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5])
	return r, e
}

// put copies b into the page and returns its address.
func (p *prober) put(b []byte) uintptr {
	clear(p.page[:256])
	copy(p.page, b)
	return p.at(0)
}

func (p *prober) at(offset int) uintptr { return uintptr(unsafe.Pointer(&p.page[offset])) }

// inet4 and inet6 are addresses as the kernel reads them.
func inet4(a netip.AddrPort) []byte {
	b := make([]byte, 16)
	binary.NativeEndian.PutUint16(b, unix.AF_INET)
	binary.BigEndian.PutUint16(b[2:], a.Port())
	ip := a.Addr().Unmap().As4()
	copy(b[4:], ip[:])
	return b
}

func inet6(a netip.AddrPort) []byte {
	b := make([]byte, 28)
	binary.NativeEndian.PutUint16(b, unix.AF_INET6)
	binary.BigEndian.PutUint16(b[2:], a.Port())
	ip := a.Addr().As16()
	copy(b[8:], ip[:])
	return b
}

func unixAddress(path string) []byte {
	b := make([]byte, 2, 110)
	binary.NativeEndian.PutUint16(b, unix.AF_UNIX)
	if path != "" && path[0] == '@' {
		return append(append(b, 0), path[1:]...)
	}
	return append(append(b, path...), 0)
}

func at(ip string, port uint16) netip.AddrPort {
	return netip.AddrPortFrom(netip.MustParseAddr(ip), port)
}

func (p *prober) socket(family, typ int) int {
	r, e := call(unix.SYS_SOCKET, uintptr(family), uintptr(typ), 0)
	if e != 0 {
		return -1
	}
	return int(r)
}

func (p *prober) connect(s int, addr []byte) (uintptr, unix.Errno) {
	return call(unix.SYS_CONNECT, uintptr(s), p.put(addr), uintptr(len(addr)))
}

// dial connects a new socket and closes it.
func (p *prober) dial(family int, addr []byte) (uintptr, unix.Errno) {
	s := p.socket(family, unix.SOCK_STREAM)
	defer call(unix.SYS_CLOSE, uintptr(s))
	return p.connect(s, addr)
}

// peer is where a socket is connected to.
func peer(s int) netip.AddrPort {
	sa, err := unix.Getpeername(s)
	if err != nil {
		return netip.AddrPort{}
	}
	return addrPort(sa)
}

// self: what the process was given.
func (p *prober) self() {
	st := procStatus("self")
	for _, set := range []string{"CapInh", "CapPrm", "CapEff", "CapAmb"} {
		p.report("no capability in "+set, st[set] == "0000000000000000", "%s", st[set])
	}
	p.report("no_new_privs", st["NoNewPrivs"] == "1", "%s", st["NoNewPrivs"])
	p.report("filtered", st["Seccomp"] == "2", "%s", st["Seccomp"])
	p.report("not root", os.Getuid() != 0 && os.Geteuid() != 0 && os.Getgid() != 0, "uid %d gid %d", os.Getuid(), os.Getgid())
	left := 0
	for fd := 3; fd < 256; fd++ {
		link, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
		if err == nil && link != "anon_inode:[eventpoll]" && link != "anon_inode:[eventfd]" && link != "/sys/fs/cgroup" {
			if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
				left++
			}
		}
	}
	p.report("no descriptor inherited", left == 0, "%d", left)
	for _, v := range []string{"LD_PRELOAD", shimName} {
		_, ok := os.LookupEnv(v)
		p.report("environment without "+v, !ok, "")
	}
}

// addresses: where a plain connect may go.
func (p *prober) addresses() {
	c := p.conf
	r, e := p.dial(unix.AF_INET, inet4(c.Allowed))
	p.report("allowed", e == 0, "r=%d errno=%d (%v)", int64(r), int(e), e)
	r, e = p.dial(unix.AF_INET6, inet6(netip.AddrPortFrom(netip.AddrFrom16(c.Allowed.Addr().As16()), c.Allowed.Port())))
	p.report("allowed, IPv4-mapped", e == 0 || e == unix.EAFNOSUPPORT, "r=%d errno=%d (%v)", int64(r), int(e), e)
	evil := c.Evil4.Port()
	for _, a := range []netip.AddrPort{
		c.Evil4, c.UDP, at("127.0.0.1", c.Allowed.Port()+1), at("127.0.0.1", 22), at("127.0.0.1", 0),
		at("127.0.0.2", evil), at("127.0.0.2", c.Allowed.Port()), at("127.255.255.254", c.Allowed.Port()),
		at("0.0.0.0", evil), at("0.0.0.0", c.Allowed.Port()), at("169.254.169.254", 80), at("169.254.170.2", 80),
		at("10.0.0.1", 443), at("172.17.0.1", 2375), at("192.168.1.1", 80), at("192.0.2.1", 443),
		at("255.255.255.255", c.Allowed.Port()), at("224.0.0.1", c.Allowed.Port()),
	} {
		r, e := p.dial(unix.AF_INET, inet4(a))
		p.refuses("connect "+a.String(), r, e)
	}
	for _, a := range []netip.AddrPort{
		c.Evil6, at("::1", c.Allowed.Port()), at("::1", evil), at("::ffff:127.0.0.1", evil), at("::ffff:127.0.0.2", c.Allowed.Port()),
		at("::", evil), at("::", c.Allowed.Port()), at("::127.0.0.1", c.Allowed.Port()), at("64:ff9b::7f00:1", c.Allowed.Port()),
		at("2001:db8::1", 443), at("fe80::1", 443), at("fd00:ec2::254", 80), at("ff02::1", 443), at("::ffff:169.254.169.254", 80),
	} {
		r, e := p.dial(unix.AF_INET6, inet6(a))
		p.refuses("connect "+a.String(), r, e)
	}
}

// child plays the part of a process that the attacker started.
func (p *prober) child() int {
	switch p.conf.Child {
	case "evil":
		if _, e := p.dial(unix.AF_INET, inet4(p.conf.Evil4)); e == 0 {
			return 7
		}
		return 0
	case "allowed":
		if _, e := p.dial(unix.AF_INET, inet4(p.conf.Allowed)); e != 0 {
			return 7
		}
		return 0
	case "hidden": // not dumpable: nobody can read our address
		_, _ = call(unix.SYS_PRCTL, unix.PR_SET_DUMPABLE, 0)
		if _, e := p.dial(unix.AF_INET, inet4(p.conf.Evil4)); e == 0 {
			return 7
		}
		return 0
	case "foreign": // the architecture's second ABI
		_, e := call(foreignABI|unix.SYS_GETPID, 0)
		if e == 0 {
			return 7
		}
		return 0
	}
	return 2
}

// children: the lock is inherited.
func (p *prober) children() {
	for _, part := range []string{"evil", "allowed", "hidden", "foreign"} {
		c := p.conf
		c.Child = part
		b, err := json.Marshal(c)
		if err != nil {
			p.report("child: "+part, false, "%v", err)
			continue
		}
		proc, err := os.StartProcess("/proc/self/exe", []string{probeName}, &os.ProcAttr{Env: []string{probeEnv + "=" + string(b)}, Files: []*os.File{nil, nil, os.Stderr}})
		if err != nil {
			p.report("child: "+part, false, "%v", err)
			continue
		}
		st, err := proc.Wait()
		ok := err == nil && st.ExitCode() == 0
		if err == nil && part == "foreign" {
			ws := st.Sys().(syscall.WaitStatus)
			ok = ok || ws.Signaled() && ws.Signal() == unix.SIGSYS
		}
		p.report("child: "+part, ok, "%v %v", st, err)
	}
}

// during runs f again and again for the length of a race, and counts. A
// machine that gives us little time gets its tries all the same.
func (p *prober) during(f func()) (tries int) {
	const least = 50
	for end := time.Now().Add(p.conf.Race); tries < least || time.Now().Before(end); tries++ {
		f()
	}
	return tries
}
