//go:build linux && (amd64 || arm64)

package netlock

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"

	"golang.org/x/sys/unix"
)

// shapes: connects that are not plain.
func (p *prober) shapes() {
	c := p.conf
	evil, good := inet4(c.Evil4), inet4(c.Allowed)
	s := p.socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK)
	r, e := p.connect(s, evil)
	p.report("non-blocking", e != 0 && e != unix.EINPROGRESS, "r=%d errno=%d", int64(r), int(e))
	r, e = p.connect(s, good)
	ok := (e == 0 || e == unix.EINPROGRESS) && pollOut(s) && peer(s) == c.Allowed
	p.report("allowed, non-blocking", ok, "r=%d errno=%d peer=%v", int64(r), int(e), peer(s))
	r, e = p.connect(s, make([]byte, 16)) // AF_UNSPEC: disconnect
	p.refuses("disconnect", r, e)
	_, e = p.connect(s, evil)
	p.report("second connect", e != 0 && peer(s) != c.Evil4, "errno=%d peer=%v", int(e), peer(s))
	unix.Close(s)

	s = p.socket(unix.AF_INET, unix.SOCK_STREAM)
	_, _ = call(unix.SYS_BIND, uintptr(s), p.put(inet4(at("0.0.0.0", 0))), 16)
	r, e = p.connect(s, evil)
	p.refuses("connect after bind", r, e)
	for _, size := range []uintptr{100, 8, 2, 1, 0, 129, 1 << 20, 1<<32 | 8, ^uintptr(0)} {
		r, e := call(unix.SYS_CONNECT, uintptr(s), p.put(append(inet4(c.Evil4), make([]byte, 100)...)), size)
		p.refuses(fmt.Sprintf("connect, length %#x", size), r, e)
	}
	r, e = call(unix.SYS_CONNECT, uintptr(s), 0xdead000, 16)
	p.refuses("connect, bad pointer", r, e)
	r, e = call(unix.SYS_CONNECT, uintptr(s), ^uintptr(0)-7, 16)
	p.refuses("connect, kernel pointer", r, e)
	_, e = call(unix.SYS_CONNECT, uintptr(s)|0x7700000000, p.put(evil), 16|1<<32)
	p.report("connect, garbage in high halves", e != 0 && peer(s) != c.Evil4, "errno=%d", int(e))
	r, e = call(unix.SYS_CONNECT, ^uintptr(0), p.put(good), 16)
	p.refuses("connect, descriptor -1", r, e, unix.EBADF)
	r, e = call(unix.SYS_CONNECT, 1, p.put(good), 16)
	p.refuses("connect, descriptor no socket", r, e, unix.ENOTSOCK, unix.EISCONN)
	r, e = p.connect(s, inet6(c.Evil6))
	p.refuses("connect, IPv6 address on IPv4 socket", r, e)
	d, err := unix.Dup(s)
	_, e = p.connect(d, evil)
	p.report("connect, duplicated descriptor", err == nil && e != 0 && peer(s) != c.Evil4, "errno=%d", int(e))
	unix.Close(d)
	unix.Close(s)
	p.pairs()
}

func pollOut(s int) bool {
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(s), Events: unix.POLLOUT}}, 2000)
	return err == nil && n == 1
}

// pairs: descriptors that did not come from socket.
func (p *prober) pairs() {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	p.report("socketpair, stream", err == nil, "%v", err)
	if err == nil {
		r, e := p.connect(pair[0], inet4(p.conf.Evil4))
		p.refuses("connect one of a pair", r, e)
		unix.Close(pair[0])
		unix.Close(pair[1])
	}
	r, e := call(unix.SYS_SOCKETPAIR, unix.AF_UNIX, unix.SOCK_DGRAM, 0, p.at(512))
	p.refuses("socketpair, datagram", r, e, unix.EACCES)
	r, e = call(unix.SYS_SOCKETPAIR, unix.AF_INET, unix.SOCK_STREAM, 0, p.at(512))
	p.refuses("socketpair, IPv4", r, e, unix.EACCES)
}

// fastOpen: data calls that connect.
func (p *prober) fastOpen() {
	s := p.socket(unix.AF_INET, unix.SOCK_STREAM)
	defer unix.Close(s)
	to := p.put(inet4(p.conf.Evil4))
	copy(p.page[512:], "GET / HTTP/1.0\r\n\r\n")
	msg := p.page[1024:]
	clear(msg[:128])
	for i, v := range []uintptr{to, 16, p.at(1536), 1} { // struct msghdr: name, its length, vectors, their count
		binary.NativeEndian.PutUint64(msg[8*i:], uint64(v))
	}
	binary.NativeEndian.PutUint64(p.page[1536:], uint64(p.at(512)))
	binary.NativeEndian.PutUint64(p.page[1544:], 18)
	const quiet = unix.MSG_NOSIGNAL
	r, e := call(unix.SYS_SENDTO, uintptr(s), p.at(512), 18, msgFastopen|quiet, to, 16)
	p.refuses("sendto with MSG_FASTOPEN", r, e, unix.EACCES)
	r, e = call(unix.SYS_SENDTO, uintptr(s), p.at(512), 18, msgFastopen|quiet|1<<40, 0, 0)
	p.refuses("sendto with MSG_FASTOPEN, no address", r, e, unix.EACCES)
	r, e = call(unix.SYS_SENDMSG, uintptr(s), p.at(1024), msgFastopen|quiet)
	p.refuses("sendmsg with MSG_FASTOPEN", r, e, unix.EACCES)
	r, e = call(unix.SYS_SENDMMSG, uintptr(s), p.at(1024), 1, msgFastopen|quiet)
	p.refuses("sendmmsg with MSG_FASTOPEN", r, e, unix.EACCES)
	r, e = call(unix.SYS_SENDMSG, uintptr(s), p.at(1024), quiet)
	p.refuses("sendmsg with an address", r, e)
	r, e = call(unix.SYS_SENDTO, uintptr(s), p.at(512), 18, quiet, to, 16)
	p.refuses("sendto with an address", r, e)
	r, e = call(unix.SYS_WRITE, uintptr(s), p.at(512), 18)
	p.refuses("write, not connected", r, e)
}

// options: what may be set on a socket.
func (p *prober) options() {
	s := p.socket(unix.AF_INET, unix.SOCK_STREAM)
	defer unix.Close(s)
	const mptcp, udp, raw = 284, 17, 255
	for _, o := range []struct {
		name         string
		level, name1 uintptr
	}{
		{"IP_OPTIONS", 0, unix.IP_OPTIONS},
		{"IP_TRANSPARENT", 0, unix.IP_TRANSPARENT},
		{"IP_FREEBIND", 0, unix.IP_FREEBIND},
		{"IP_HDRINCL", 0, unix.IP_HDRINCL},
		{"IP_UNICAST_IF", 0, unix.IP_UNICAST_IF},
		{"IP_ADD_MEMBERSHIP", 0, unix.IP_ADD_MEMBERSHIP},
		{"IP_MULTICAST_IF", 0, unix.IP_MULTICAST_IF},
		{"IPT_SO_SET_REPLACE", 0, 64},
		{"IPV6_RTHDR", 41, unix.IPV6_RTHDR},
		{"IPV6_2292PKTOPTIONS", 41, unix.IPV6_2292PKTOPTIONS},
		{"IPV6_HOPOPTS", 41, unix.IPV6_HOPOPTS},
		{"IPV6_DSTOPTS", 41, unix.IPV6_DSTOPTS},
		{"IPV6_ADDRFORM", 41, unix.IPV6_ADDRFORM},
		{"IPV6_PKTINFO", 41, unix.IPV6_PKTINFO},
		{"SO_BINDTODEVICE", 1, unix.SO_BINDTODEVICE},
		{"SO_BINDTOIFINDEX", 1, unix.SO_BINDTOIFINDEX},
		{"SO_MARK", 1, unix.SO_MARK},
		{"SO_DONTROUTE", 1, unix.SO_DONTROUTE},
		{"SO_ATTACH_FILTER", 1, unix.SO_ATTACH_FILTER},
		{"SO_ATTACH_BPF", 1, unix.SO_ATTACH_BPF},
		{"SO_ATTACH_REUSEPORT_EBPF", 1, unix.SO_ATTACH_REUSEPORT_EBPF},
		{"SO_NETNS_COOKIE", 1, unix.SO_NETNS_COOKIE},
		{"TCP_REPAIR", 6, unix.TCP_REPAIR},
		{"TCP_ULP", 6, unix.TCP_ULP},
		{"TCP_MD5SIG", 6, unix.TCP_MD5SIG},
		{"TCP_FASTOPEN", 6, unix.TCP_FASTOPEN},
		{"TCP_FASTOPEN_CONNECT", 6, unix.TCP_FASTOPEN_CONNECT},
		{"SOL_MPTCP", mptcp, 1},
		{"SOL_UDP", udp, 1},
		{"SOL_RAW", raw, 1},
		{"SOL_TLS", 282, 1},
		{"level -1", ^uintptr(0), 1},
	} {
		r, e := call(unix.SYS_SETSOCKOPT, uintptr(s), o.level, o.name1, p.put([]byte{1, 0, 0, 0, 0, 0, 0, 0}), 8)
		p.refuses("setsockopt "+o.name, r, e, unix.EPERM)
	}
	for name, o := range map[string][2]uintptr{"SO_REUSEADDR": {1, unix.SO_REUSEADDR}, "TCP_NODELAY": {6, unix.TCP_NODELAY}, "IP_TOS": {0, unix.IP_TOS}} {
		_, e := call(unix.SYS_SETSOCKOPT, uintptr(s), o[0], o[1], p.put([]byte{1, 0, 0, 0}), 4)
		p.report("setsockopt "+name+" allowed", e == 0, "errno=%d", int(e))
	}
}

// kinds: sockets that must not exist.
func (p *prober) kinds() {
	const smc, tipc, rds, xdp, kcm, mctp, qrtr, appletalk, x25, can = 43, 30, 21, 44, 41, 45, 42, 5, 9, 29
	type k struct {
		name               string
		family, typ, proto uintptr
	}
	all := []k{
		{"UDP", unix.AF_INET, unix.SOCK_DGRAM, 0},
		{"UDP over IPv6", unix.AF_INET6, unix.SOCK_DGRAM, 0},
		{"UDP, garbage in high halves", unix.AF_INET | 1<<32, unix.SOCK_DGRAM | 1<<40, 0},
		{"UDP-Lite", unix.AF_INET, unix.SOCK_DGRAM, 136},
		{"UDP, non-blocking", unix.AF_INET, unix.SOCK_DGRAM | unix.SOCK_NONBLOCK | unix.SOCK_CLOEXEC, 17},
		{"ping", unix.AF_INET, unix.SOCK_DGRAM, 1},
		{"ping6", unix.AF_INET6, unix.SOCK_DGRAM, 58},
		{"raw", unix.AF_INET, unix.SOCK_RAW, 1},
		{"raw TCP", unix.AF_INET, unix.SOCK_RAW, 6},
		{"raw6", unix.AF_INET6, unix.SOCK_RAW, 58},
		{"packet", unix.AF_PACKET, unix.SOCK_RAW, 0},
		{"packet, datagram", unix.AF_PACKET, unix.SOCK_DGRAM, 0},
		{"SOCK_PACKET", unix.AF_INET, 10, 0},
		{"MPTCP", unix.AF_INET, unix.SOCK_STREAM, 262},
		{"MPTCP6", unix.AF_INET6, unix.SOCK_STREAM, 262},
		{"SCTP", unix.AF_INET, unix.SOCK_STREAM, 132},
		{"SCTP, seqpacket", unix.AF_INET, unix.SOCK_SEQPACKET, 132},
		{"SMC over IPv4", unix.AF_INET, unix.SOCK_STREAM, 256},
		{"SMC", smc, unix.SOCK_STREAM, 0},
		{"DCCP", unix.AF_INET, 6, 33},
		{"RDM", unix.AF_INET, unix.SOCK_RDM, 0},
		{"vsock", unix.AF_VSOCK, unix.SOCK_STREAM, 0},
		{"vsock, datagram", unix.AF_VSOCK, unix.SOCK_DGRAM, 0},
		{"alg", unix.AF_ALG, unix.SOCK_SEQPACKET, 0},
		{"XDP", xdp, unix.SOCK_RAW, 0},
		{"TIPC", tipc, unix.SOCK_STREAM, 0},
		{"RDS", rds, unix.SOCK_SEQPACKET, 0},
		{"KCM", kcm, unix.SOCK_DGRAM, 0},
		{"MCTP", mctp, unix.SOCK_DGRAM, 0},
		{"QRTR", qrtr, unix.SOCK_DGRAM, 0},
		{"bluetooth", unix.AF_BLUETOOTH, unix.SOCK_STREAM, 0},
		{"CAN", can, unix.SOCK_RAW, 1},
		{"AppleTalk", appletalk, unix.SOCK_DGRAM, 0},
		{"X.25", x25, unix.SOCK_SEQPACKET, 0},
		{"key", 15, unix.SOCK_RAW, 2},
		{"netlink audit", unix.AF_NETLINK, unix.SOCK_RAW, 9},
		{"netlink sock_diag", unix.AF_NETLINK, unix.SOCK_RAW, 4},
		{"netlink generic", unix.AF_NETLINK, unix.SOCK_RAW, 16},
		{"netlink uevent", unix.AF_NETLINK, unix.SOCK_RAW, 15},
		{"netlink netfilter", unix.AF_NETLINK, unix.SOCK_RAW, 12},
		{"unix datagram", unix.AF_UNIX, unix.SOCK_DGRAM, 0},
		{"unix raw", unix.AF_UNIX, unix.SOCK_RAW, 0},
		{"family -1", ^uintptr(0), 1, 0},
		{"unspecified", 0, 1, 0},
		{"unknown flag in type", unix.AF_INET, unix.SOCK_STREAM | 1<<20, 0},
	}
	if !p.conf.Netlink {
		all = append(all, k{"netlink route", unix.AF_NETLINK, unix.SOCK_RAW, 0})
	}
	for _, x := range all {
		r, e := call(unix.SYS_SOCKET, x.family, x.typ, x.proto)
		p.refuses("socket "+x.name, r, e, unix.EACCES)
		if e == 0 {
			unix.Close(int(r))
		}
	}
}

// serving: what may listen.
func (p *prober) serving() {
	c := p.conf
	s := p.socket(unix.AF_INET, unix.SOCK_STREAM)
	r, e := call(unix.SYS_LISTEN, uintptr(s), 5)
	p.refuses("listen, not bound", r, e, unix.EACCES)
	_, e = call(unix.SYS_BIND, uintptr(s), p.put(inet4(at("0.0.0.0", 0))), 16)
	_, e2 := call(unix.SYS_LISTEN, uintptr(s), 5)
	bound := localAddr(s)
	if c.Listen {
		p.report("listen everywhere becomes loopback", e == 0 && e2 == 0 && bound.Addr().IsLoopback(), "%v errno=%d %d", bound, int(e), int(e2))
		r, e := p.dial(unix.AF_INET, inet4(bound))
		p.report("own server is reached", e == 0, "r=%d errno=%d", int64(r), int(e))
	} else {
		p.report("listen everywhere", e != 0 && e2 != 0, "%v errno=%d %d", bound, int(e), int(e2))
	}
	unix.Close(s)
	for _, a := range []netip.AddrPort{c.Allowed, netip.AddrPortFrom(netip.IPv4Unspecified(), c.Allowed.Port()), at("192.0.2.1", 0), at("10.0.0.1", 8080)} {
		s := p.socket(unix.AF_INET, unix.SOCK_STREAM)
		r, e := call(unix.SYS_BIND, uintptr(s), p.put(inet4(a)), 16)
		p.refuses("bind "+a.String(), r, e, unix.EACCES)
		unix.Close(s)
	}
	s = p.socket(unix.AF_INET, unix.SOCK_STREAM)
	one := p.put([]byte{1, 0, 0, 0})
	_, _ = call(unix.SYS_SETSOCKOPT, uintptr(s), unix.SOL_SOCKET, unix.SO_REUSEPORT, one, 4)
	r, e = call(unix.SYS_BIND, uintptr(s), p.put(inet4(c.Allowed)), 16)
	p.refuses("bind the allowed port, SO_REUSEPORT", r, e, unix.EACCES)
	unix.Close(s)
	if !c.Listen {
		s = p.socket(unix.AF_INET, unix.SOCK_STREAM)
		r, e = call(unix.SYS_BIND, uintptr(s), p.put(inet4(at("127.0.0.1", 0))), 16)
		p.refuses("bind loopback", r, e, unix.EACCES)
		unix.Close(s)
	}
}

func localAddr(s int) netip.AddrPort {
	sa, err := unix.Getsockname(s)
	if err != nil {
		return netip.AddrPort{}
	}
	return addrPort(sa)
}

// unixPaths: local servers.
func (p *prober) unixPaths() {
	dir := p.conf.Dir
	link := dir + "/link"
	_ = os.Symlink("/var/run/docker.sock", link) // the next line tells if it is not there
	_ = os.Symlink("/var/run", dir+"/dir")
	for _, path := range []string{
		p.conf.Abstract, "@", "/var/run/docker.sock", "/run/dbus/system_bus_socket", link, dir + "/dir/docker.sock", dir + "/../x",
		dir + "/./x", dir + "//x", dir, dir + "/none", "relative", "", "/proc/self/fd/0",
	} {
		s := p.socket(unix.AF_UNIX, unix.SOCK_STREAM)
		r, e := p.connect(s, unixAddress(path))
		p.refuses(fmt.Sprintf("unix connect %q", path), r, e)
		unix.Close(s)
	}
	server, own := p.socket(unix.AF_UNIX, unix.SOCK_STREAM), dir+"/own"
	addr := unixAddress(own)
	_, e1 := call(unix.SYS_BIND, uintptr(server), p.put(addr), uintptr(len(addr)))
	_, e2 := call(unix.SYS_LISTEN, uintptr(server), 5)
	s := p.socket(unix.AF_UNIX, unix.SOCK_STREAM)
	_, e3 := p.connect(s, addr)
	p.report("own unix server", e1|e2|e3 == 0, "errno=%d %d %d", int(e1), int(e2), int(e3))
	if e1|e2|e3 == 0 {
		peerFD, _, err := unix.Accept(server)
		if err == nil {
			cred, err := unix.GetsockoptUcred(peerFD, unix.SOL_SOCKET, unix.SO_PEERCRED)
			p.report("peer of a unix connection is the command's user", err == nil && int(cred.Uid) == os.Getuid() && int(cred.Gid) == os.Getgid(), "%+v %v", cred, err)
			unix.Close(peerFD)
		}
	}
	unix.Close(s)
	unix.Close(server)
}
