//go:build linux && (amd64 || arm64)

package netlock

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// maxSockaddr is what the kernel copies of an address, at most.
const maxSockaddr = 128

// address is our copy of what a command passed.
type address struct {
	family uint16
	ip     netip.AddrPort
	path   string // unix; abstract names begin with @
}

func (a address) String() string {
	switch a.family {
	case unix.AF_INET, unix.AF_INET6:
		return a.ip.String()
	case unix.AF_UNIX:
		return "unix:" + a.path
	}
	return fmt.Sprintf("address family %d", a.family)
}

// parseAddress decodes as the kernel does.
func parseAddress(b []byte) (a address, e unix.Errno) {
	if len(b) < 2 {
		return a, unix.EINVAL
	}
	a.family = binary.NativeEndian.Uint16(b)
	switch a.family {
	case unix.AF_INET:
		if len(b) < unix.SizeofSockaddrInet4 {
			return a, unix.EINVAL
		}
		a.ip = netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[4:8])), binary.BigEndian.Uint16(b[2:]))
	case unix.AF_INET6:
		if len(b) < 24 { // SIN6_LEN_RFC2133: the scope may be missing; it takes no part
			return a, unix.EINVAL
		}
		a.ip = netip.AddrPortFrom(netip.AddrFrom16([16]byte(b[8:24])).Unmap(), binary.BigEndian.Uint16(b[2:]))
	case unix.AF_UNIX:
		p := b[2:]
		if len(p) > 0 && p[0] == 0 {
			a.path = "@" + string(p[1:])
			break
		}
		if i := bytes.IndexByte(p, 0); i >= 0 {
			p = p[:i]
		}
		a.path = string(p)
	}
	return a, 0
}

// readAddress copies the address argument of connect or bind out of the
// command, once. It is never read again, and neither is it by the kernel.
func (l *lock) readAddress(n *notification, call string) (address, unix.Errno) {
	size := int(int32(n.Args[2]))
	if size < 2 || size > maxSockaddr {
		return address{}, unix.EINVAL
	}
	b := make([]byte, size)
	if !l.readMemory(n, n.Args[1], b) {
		if !l.waiting(n) {
			return address{}, unix.EINTR // nobody hears it
		}
		l.record(n, VerdictDeny, call, "an address that cannot be read", unix.EACCES)
		return address{}, unix.EACCES
	}
	return parseAddress(b)
}

func (l *lock) readMemory(n *notification, at uint64, b []byte) bool {
	fd, err := unix.Open(fmt.Sprintf("/proc/%d/mem", n.PID), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	if !l.waiting(n) { // else the number may already be another thread's
		return false
	}
	got, err := unix.Pread(fd, b, int64(at))
	return err == nil && got == len(b) && l.waiting(n)
}

func (l *lock) connect(n *notification) result {
	a, e := l.readAddress(n, "connect")
	if e != 0 {
		return result{errno: e}
	}
	inet := a.family == unix.AF_INET || a.family == unix.AF_INET6
	switch {
	case inet && l.policy.allows(a.ip):
		return l.recorded(n, a, l.connectInet(n, a.ip))
	case inet && l.policy.Listen && l.servedByCommand(a.ip):
		return l.recorded(n, a, l.connectServed(n, a.ip))
	case a.family == unix.AF_UNIX && l.policy.allowsUnix(a.path):
		return l.recorded(n, a, l.connectUnix(n, a.path))
	case inet && a.ip.Addr().IsLoopback():
		e = unix.ECONNREFUSED // as if nobody listened
	default:
		e = unix.EACCES
	}
	l.record(n, VerdictDeny, "connect", a.String(), e)
	return result{errno: e}
}

func (l *lock) recorded(n *notification, a address, r result) result {
	l.record(n, VerdictAllow, "connect", a.String(), r.errno)
	r.to = a.String()
	return r
}

// connectInet connects the command's socket to an address that was vetted and
// is our copy.
func (l *lock) connectInet(n *notification, to netip.AddrPort) result {
	s, inode, e := l.find(n)
	if e != 0 {
		return result{errno: e}
	}
	defer unix.Close(s)
	domain, e1 := unix.GetsockoptInt(s, unix.SOL_SOCKET, unix.SO_DOMAIN)
	protocol, e2 := unix.GetsockoptInt(s, unix.SOL_SOCKET, unix.SO_PROTOCOL)
	if e1 != nil || e2 != nil || protocol != unix.IPPROTO_TCP {
		return result{errno: unix.EAFNOSUPPORT}
	}
	sa := sockaddr(domain, to)
	if sa == nil {
		return result{errno: unix.EAFNOSUPPORT}
	}
	e = connectBounded(s, sa)
	if e == 0 || e == unix.EINPROGRESS {
		l.sockets.settle(inode)
	}
	return result{errno: e, inode: inode}
}

// connectServed connects to a server of the command's own. Should the port have
// changed hands since it was looked up, the connection is taken back.
func (l *lock) connectServed(n *notification, to netip.AddrPort) result {
	s, _, e := l.find(n)
	if e != 0 {
		return result{errno: e}
	}
	defer unix.Close(s)
	r := l.connectInet(n, to)
	if r.errno == 0 && !l.servedByCommand(to) {
		_ = unix.Shutdown(s, unix.SHUT_RDWR)
		return result{errno: unix.ECONNREFUSED}
	}
	return r
}

// sockaddr is to for a socket of a domain, nil where it has no such address.
func sockaddr(domain int, to netip.AddrPort) unix.Sockaddr {
	switch {
	case domain == unix.AF_INET && to.Addr().Unmap().Is4():
		return &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().Unmap().As4()}
	case domain == unix.AF_INET6:
		return &unix.SockaddrInet6{Port: int(to.Port()), Addr: to.Addr().As16()} // IPv4 mapped
	}
	return nil
}

// connectBounded connects, and waits no longer than maxConnect. A non-blocking
// socket to loopback is usually connected at once; else the command waits itself.
func connectBounded(s int, sa unix.Sockaddr) unix.Errno {
	flags, err := unix.FcntlInt(uintptr(s), unix.F_GETFL, 0)
	if err != nil {
		return errnoOf(err)
	}
	patience, late := 20*time.Millisecond, unix.EINPROGRESS
	if flags&unix.O_NONBLOCK == 0 {
		patience, late = maxConnect, unix.ETIMEDOUT
		old, err := unix.GetsockoptTimeval(s, unix.SOL_SOCKET, unix.SO_SNDTIMEO)
		if err != nil {
			return errnoOf(err)
		}
		limit := unix.NsecToTimeval(int64(maxConnect))
		if err := unix.SetsockoptTimeval(s, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &limit); err != nil {
			return errnoOf(err)
		}
		defer unix.SetsockoptTimeval(s, unix.SOL_SOCKET, unix.SO_SNDTIMEO, old)
	}
	end := time.Now().Add(patience)
	e := errnoOf(unix.Connect(s, sa))
	if e != unix.EINPROGRESS && e != unix.EALREADY && e != unix.EINTR { // EINTR: a signal of our own runtime
		return e
	}
	for {
		left := time.Until(end)
		if left <= 0 {
			return late
		}
		got, err := unix.Poll([]unix.PollFd{{Fd: int32(s), Events: unix.POLLOUT}}, int(left.Milliseconds())+1)
		if err == nil && got > 0 {
			break
		}
	}
	v, err := unix.GetsockoptInt(s, unix.SOL_SOCKET, unix.SO_ERROR)
	if err != nil {
		return errnoOf(err)
	}
	return unix.Errno(v)
}

// connectUnix connects to the socket that is at path now, reached without any link.
func (l *lock) connectUnix(n *notification, path string) result {
	s, inode, e := l.find(n)
	if e != 0 {
		return result{errno: e}
	}
	defer unix.Close(s)
	if d, err := unix.GetsockoptInt(s, unix.SOL_SOCKET, unix.SO_DOMAIN); err != nil || d != unix.AF_UNIX {
		return result{errno: unix.EAFNOSUPPORT}
	}
	at, err := openSocketFile(path)
	if err != nil {
		return result{errno: errnoOf(err)}
	}
	defer unix.Close(at)
	e = connectBounded(s, &unix.SockaddrUnix{Name: fmt.Sprintf("/proc/self/fd/%d", at)})
	if e == 0 {
		l.sockets.settle(inode)
	}
	return result{errno: e, inode: inode}
}

// openSocketFile pins the socket at an absolute clean path, following no link
// in any component, so that the name cannot come to mean another one.
func openSocketFile(path string) (int, error) {
	at, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for i, name := range parts {
		flags := unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC
		if i < len(parts)-1 {
			flags |= unix.O_DIRECTORY
		}
		next, err := unix.Openat(at, name, flags, 0)
		unix.Close(at)
		if err != nil {
			return -1, err
		}
		at = next
	}
	var st unix.Stat_t
	if err := unix.Fstat(at, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFSOCK {
		unix.Close(at)
		return -1, unix.ECONNREFUSED
	}
	return at, nil
}
