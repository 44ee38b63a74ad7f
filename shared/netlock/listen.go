//go:build linux && (amd64 || arm64)

package netlock

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const maxListening = 1024 // servers remembered

// bind to a name in the file system or a netlink port is left to the kernel,
// with the command's own directory, mask and Landlock. The command could change
// the address meanwhile, to no use: a socket bound outside loopback is never
// made to listen, and binding sends nothing.
func (l *lock) bind(n *notification) result {
	a, e := l.readAddress(n, "bind")
	if e != 0 {
		return result{errno: e}
	}
	switch a.family {
	case unix.AF_UNIX, unix.AF_NETLINK:
		return result{cont: true}
	case unix.AF_INET, unix.AF_INET6:
	default:
		l.record(n, VerdictDeny, "bind", a.String(), unix.EACCES)
		return result{errno: unix.EACCES}
	}
	ip := a.ip.Addr()
	if !l.policy.Listen || l.policy.reserves(a.ip.Port()) || !ip.IsLoopback() && !ip.IsUnspecified() {
		l.record(n, VerdictDeny, "bind", a.String(), unix.EACCES)
		return result{errno: unix.EACCES}
	}
	s, inode, e := l.find(n)
	if e != 0 {
		return result{errno: e}
	}
	defer unix.Close(s)
	sa := loopback(s, a.ip)
	if sa == nil {
		return result{errno: unix.EAFNOSUPPORT}
	}
	e = errnoOf(unix.Bind(s, sa))
	l.record(n, VerdictAllow, "bind", a.String(), e)
	return result{errno: e, inode: inode, to: a.String()}
}

// loopback is where a socket is bound: "every address" becomes loopback.
func loopback(s int, at netip.AddrPort) unix.Sockaddr {
	domain, err := unix.GetsockoptInt(s, unix.SOL_SOCKET, unix.SO_DOMAIN)
	if err != nil {
		return nil
	}
	ip := at.Addr()
	if ip.IsUnspecified() {
		ip = netip.AddrFrom4([4]byte{127, 0, 0, 1}) // an IPv6 socket takes it as mapped
		if domain == unix.AF_INET6 {
			if only, err := unix.GetsockoptInt(s, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY); err != nil || only != 0 {
				ip = netip.IPv6Loopback()
			}
		}
	}
	return sockaddr(domain, netip.AddrPortFrom(ip, at.Port()))
}

// listen lets a unix socket listen, and with Policy.Listen a TCP socket that is
// bound to loopback. The socket itself is asked, not the bind that went before.
func (l *lock) listen(n *notification) result {
	inode := l.inode(n, int(int32(n.Args[0])))
	if l.sockets.isListening(inode) {
		return result{} // a new backlog
	}
	s, inode, e := l.find(n)
	if e != 0 {
		if e == unix.EISCONN {
			e = unix.EINVAL
		}
		return result{errno: e}
	}
	defer unix.Close(s)
	deny := func(what string) result {
		l.record(n, VerdictDeny, "listen", what, unix.EACCES)
		return result{errno: unix.EACCES}
	}
	domain, err := unix.GetsockoptInt(s, unix.SOL_SOCKET, unix.SO_DOMAIN)
	if err != nil {
		return result{errno: errnoOf(err)}
	}
	if domain != unix.AF_UNIX {
		if !l.policy.Listen {
			return deny("TCP")
		}
		sa, err := unix.Getsockname(s)
		at := addrPort(sa)
		if err != nil || !at.Addr().IsLoopback() || at.Port() == 0 || l.policy.reserves(at.Port()) {
			return deny("TCP " + at.String())
		}
		if !l.sockets.listens(inode, at.Port()) {
			return deny(fmt.Sprintf("more than %d servers", maxListening))
		}
	}
	e = errnoOf(unix.Listen(s, int(int32(n.Args[1]))))
	if e == 0 {
		l.sockets.settle(inode)
	}
	return result{errno: e, inode: inode}
}

func (s *sockets) isListening(inode uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.listening[inode]
	return ok
}

// listens remembers a server of the command. When there are too many it looks
// which still are.
func (s *sockets) listens(inode uint64, port uint16) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.listening) >= maxListening {
		alive := listeners(func(uint16) bool { return true })
		for i := range s.listening {
			if _, ok := alive[i]; !ok {
				delete(s.listening, i)
			}
		}
	}
	if len(s.listening) >= maxListening {
		return false
	}
	s.listening[inode] = port
	return true
}

func addrPort(sa unix.Sockaddr) netip.AddrPort {
	switch a := sa.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(a.Addr), uint16(a.Port))
	case *unix.SockaddrInet6:
		return netip.AddrPortFrom(netip.AddrFrom16(a.Addr).Unmap(), uint16(a.Port))
	}
	return netip.AddrPort{}
}

// servesOn tells whether the command has had a server on a port, which spares a
// look at the kernel's list for most refusals.
func (s *sockets) servesOn(port uint16) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.listening {
		if p == port {
			return true
		}
	}
	return false
}

// servedByCommand tells whether every listener on a loopback port, at least
// one, is a socket that the command was allowed to listen on.
func (l *lock) servedByCommand(a netip.AddrPort) bool {
	if !a.Addr().IsLoopback() && !a.Addr().IsUnspecified() || !l.sockets.servesOn(a.Port()) {
		return false
	}
	found := listeners(func(port uint16) bool { return port == a.Port() })
	for i := range found {
		if !l.sockets.isListening(i) {
			return false
		}
	}
	return len(found) > 0
}

// listeners are the inodes of the TCP sockets that listen on certain ports.
// The kernel's tables hold the connections of the whole machine, so they are
// read line by line.
func listeners(on func(port uint16) bool) map[uint64]struct{} {
	found := map[uint64]struct{}{}
	for _, table := range []string{"/proc/self/net/tcp", "/proc/self/net/tcp6"} {
		f, err := os.Open(table)
		if err != nil {
			continue // no IPv6 here
		}
		readListeners(f, on, found)
		f.Close()
	}
	return found
}

func readListeners(table io.Reader, on func(port uint16) bool, found map[uint64]struct{}) {
	const state, local, inode, listening = 3, 1, 9, "0A"
	for lines := bufio.NewScanner(table); lines.Scan(); {
		if !bytes.Contains(lines.Bytes(), []byte(" "+listening+" ")) {
			continue
		}
		f := strings.Fields(lines.Text())
		if len(f) <= inode || f[state] != listening {
			continue
		}
		_, hex, _ := strings.Cut(f[local], ":")
		port, err := strconv.ParseUint(hex, 16, 16)
		if err != nil || !on(uint16(port)) {
			continue
		}
		if i, err := strconv.ParseUint(f[inode], 10, 64); err == nil {
			found[i] = struct{}{}
		}
	}
}
