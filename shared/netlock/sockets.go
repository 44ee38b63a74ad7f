//go:build linux && (amd64 || arm64)

package netlock

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// maxSockets is how many sockets may be neither connected nor listening. The
// oldest is forgotten: it can then not be connected any more.
const maxSockets = 256

// sockets holds our copy of each socket that was made for the command, by its
// inode, until it is connected or listens; later it would only keep the
// connection open. The inode is how a descriptor of the command is recognised.
type sockets struct {
	mu        sync.Mutex
	fd        map[uint64]int
	order     []uint64
	listening map[uint64]uint16 // sockets of the command that listen on loopback, and their ports
}

func newSockets() *sockets {
	return &sockets{fd: map[uint64]int{}, listening: map[uint64]uint16{}}
}

// add keeps fd and tells whether an older one had to go.
func (s *sockets) add(inode uint64, fd int) (full bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fd[inode] = fd
	s.order = append(s.order, inode)
	if len(s.order) <= maxSockets {
		return false
	}
	s.drop(s.order[0])
	return true
}

// copyOf returns a new descriptor of the socket, for the caller to close.
func (s *sockets) copyOf(inode uint64) (int, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fd, ok := s.fd[inode]
	if !ok {
		return -1, false
	}
	c, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	return c, err == nil
}

// settle forgets a socket that is now connected or listens.
func (s *sockets) settle(inode uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(inode)
}

func (s *sockets) drop(inode uint64) { // with mu
	fd, ok := s.fd[inode]
	if !ok {
		return
	}
	unix.Close(fd)
	delete(s.fd, inode)
	if i := slices.Index(s.order, inode); i >= 0 {
		s.order = slices.Delete(s.order, i, i+1)
	}
}

func (s *sockets) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, fd := range s.fd {
		unix.Close(fd)
	}
	clear(s.fd)
}

// A kind of socket that the command may have.
type kind struct {
	family, typ uint32
	protocols   []uint32
	why         string
}

// kinds is the whole list. With none but stream sockets no message can name a
// peer, so connecting is the only way out.
var kinds = []kind{
	{unix.AF_INET, unix.SOCK_STREAM, []uint32{0, unix.IPPROTO_TCP}, "TCP; not MPTCP, SCTP or SMC, which connect by other calls or to several peers"},
	{unix.AF_INET6, unix.SOCK_STREAM, []uint32{0, unix.IPPROTO_TCP}, "TCP over IPv6, which also has the IPv4 addresses"},
	{unix.AF_UNIX, unix.SOCK_STREAM, []uint32{0}, "local servers"},
	{unix.AF_UNIX, unix.SOCK_SEQPACKET, []uint32{0}, "local servers, in records"},
}

func inKinds(list []kind, family, typ, protocol uint32) bool {
	return slices.ContainsFunc(list, func(k kind) bool {
		return k.family == family && k.typ == typ && slices.Contains(k.protocols, protocol)
	})
}

// socket makes the socket here and places it in the command. All arguments are
// registers: nothing can change behind our back.
func (l *lock) socket(n *notification) result {
	family, typ, protocol := uint32(n.Args[0]), uint32(n.Args[1]), uint32(n.Args[2])
	const known = sockType | unix.SOCK_NONBLOCK | unix.SOCK_CLOEXEC
	if !inKinds(kinds, family, typ&sockType, protocol) || typ&^known != 0 {
		l.record(n, VerdictDeny, "socket", describeSocket(family, typ&sockType, protocol), unix.EACCES)
		return result{errno: unix.EACCES}
	}
	fd, err := unix.Socket(int(family), int(typ|unix.SOCK_CLOEXEC), int(protocol))
	if err != nil {
		return result{errno: errnoOf(err)}
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		unix.Close(fd)
		return result{errno: errnoOf(err)}
	}
	if l.sockets.add(st.Ino, fd) {
		l.note(fmt.Sprintf("more than %d sockets neither connected nor listening: the oldest can not be connected any more", maxSockets))
	}
	r := l.place(n, fd, typ&unix.SOCK_CLOEXEC)
	r.inode = st.Ino
	if r.errno != 0 {
		l.sockets.settle(st.Ino)
	}
	return r
}

// place puts fd into the command, with the answer to the call where the kernel
// can do both at once.
func (l *lock) place(n *notification, fd int, cloexec uint32) result {
	a := addFD{ID: n.ID, SrcFD: uint32(fd), NewFDFlags: cloexec}
	if l.sendFD.Load() {
		a.Flags = unix.SECCOMP_ADDFD_FLAG_SEND
		_, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(l.fd), unix.SECCOMP_IOCTL_NOTIF_ADDFD, uintptr(unsafe.Pointer(&a)))
		switch e {
		case 0:
			return result{sent: true}
		case unix.EINVAL: // before 5.14
			l.sendFD.Store(false)
			a.Flags = 0
		default:
			return result{errno: e}
		}
	}
	at, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(l.fd), unix.SECCOMP_IOCTL_NOTIF_ADDFD, uintptr(unsafe.Pointer(&a)))
	if e != 0 {
		return result{errno: e}
	}
	return result{val: int64(at)}
}

// inode is the socket at a descriptor of the command, 0 if it is none. The
// command may change the descriptor at any time: then we act on another of its
// sockets, with an address that is still ours.
func (l *lock) inode(n *notification, fd int) uint64 {
	s, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", n.PID, fd))
	if err != nil {
		return 0
	}
	s, ok := strings.CutPrefix(s, "socket:[")
	if !ok {
		return 0
	}
	i, err := strconv.ParseUint(strings.TrimSuffix(s, "]"), 10, 64)
	if err != nil {
		return 0
	}
	return i
}

// find returns a copy of the command's unconnected socket, for the caller to
// close, or the error that the command gets.
func (l *lock) find(n *notification) (s int, inode uint64, e unix.Errno) {
	fd := int(int32(n.Args[0]))
	if inode = l.inode(n, fd); inode == 0 {
		var st unix.Stat_t
		if unix.Lstat(fmt.Sprintf("/proc/%d/fd/%d", n.PID, fd), &st) != nil {
			return -1, 0, unix.EBADF
		}
		return -1, 0, unix.ENOTSOCK
	}
	s, ok := l.sockets.copyOf(inode)
	if !ok {
		return -1, 0, unix.EISCONN // connected, accepted or one of a pair
	}
	return s, inode, 0
}

func errnoOf(err error) unix.Errno {
	if err == nil {
		return 0
	}
	if e, ok := errors.AsType[unix.Errno](err); ok {
		return e
	}
	return unix.EACCES
}

// describeSocket names a kind of socket for a person.
func describeSocket(family, typ, protocol uint32) string {
	families := map[uint32]string{
		unix.AF_UNIX: "unix", unix.AF_INET: "IPv4", unix.AF_INET6: "IPv6", unix.AF_NETLINK: "netlink",
		unix.AF_PACKET: "packet", unix.AF_VSOCK: "vsock", unix.AF_ALG: "alg", unix.AF_BLUETOOTH: "bluetooth",
	}
	types := map[uint32]string{
		unix.SOCK_STREAM: "stream", unix.SOCK_DGRAM: "datagram", unix.SOCK_RAW: "raw", unix.SOCK_SEQPACKET: "seqpacket",
	}
	f, ok := families[family]
	if !ok {
		f = fmt.Sprintf("family %d", family)
	}
	t, ok := types[typ]
	if !ok {
		t = fmt.Sprintf("type %d", typ)
	}
	if typ == unix.SOCK_DGRAM && (family == unix.AF_INET || family == unix.AF_INET6) {
		return f + " datagram (UDP; name lookups use it)"
	}
	return fmt.Sprintf("%s %s, protocol %d", f, t, protocol)
}
