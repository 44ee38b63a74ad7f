//go:build linux && (amd64 || arm64)

package netlock

import "golang.org/x/sys/unix"

// What the filter does with a call.
type action uint32

const (
	allow  action = unix.SECCOMP_RET_ALLOW
	notify action = unix.SECCOMP_RET_USER_NOTIF // the supervisor answers it
	kill   action = unix.SECCOMP_RET_KILL_PROCESS
)

func refuse(e unix.Errno) action { return action(unix.SECCOMP_RET_ERRNO | uint32(e)) }

// A cond holds for one argument of a call: its lower 32 bits, masked, are one of
// a list (mask 0 means all 32), or have any of some bits, or all 64 are not zero.
// The kernel's functions behind the calls with conditions take 32-bit arguments,
// but for sendto's address.
type cond struct {
	arg     int
	mask    uint32
	in      []uint32
	any     uint32
	nonzero bool
}

// A rule is a line of the filter. The first rule of a call whose conditions all
// hold decides; the last rule of a call has none. Calls without a rule are allowed.
type rule struct {
	call string
	nr   uint32
	when []cond
	do   action
	why  string
}

const (
	sockType    = 0xf        // the part of socket's second argument that is the type
	msgFastopen = 0x20000000 // MSG_FASTOPEN

	nsFlags = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
		unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET
)

// lastKnown is the newest call that was looked at for this table. A newer one
// does not exist for the command: ENOSYS, which libraries fall back from.
const lastKnown = unix.SYS_RSEQ_SLICE_YIELD

// hot are the calls that programs make most. They are answered before all else,
// which matters on kernels before 5.11: those run the filter for every call.
var hot = []uint32{
	unix.SYS_READ, unix.SYS_WRITE, unix.SYS_FUTEX, unix.SYS_CLOSE, unix.SYS_OPENAT, unix.SYS_MMAP, unix.SYS_FSTAT,
	unix.SYS_EPOLL_PWAIT,
}

// table is the filter.
func table(netlink bool) []rule {
	t := []rule{
		{"connect", unix.SYS_CONNECT, nil, notify, "the supervisor decides on its copy of the address and connects the socket itself"},
		{"bind", unix.SYS_BIND, nil, notify, "loopback only; a socket bound elsewhere is never made to listen"},
		{"listen", unix.SYS_LISTEN, nil, notify, "the door for data to be fetched from outside"},
	}
	if netlink {
		t = append(t, rule{"socket", unix.SYS_SOCKET, []cond{is(0, unix.AF_NETLINK), is(2, unix.NETLINK_ROUTE)}, allow, "Policy.Netlink: reads links and addresses; changing them takes CAP_NET_ADMIN"})
	}
	t = append(t, rule{"socket", unix.SYS_SOCKET, nil, notify, "the supervisor makes stream sockets and keeps a copy to connect; all other kinds are refused and recorded"})
	t = append(t, socketCalls(netlink)...)
	t = append(t, socketOptions()...)
	return append(t, escapes()...)
}

// is: the argument is one of the values.
func is(arg int, values ...uint32) cond { return cond{arg: arg, in: values} }

// anyOf: the argument has any of the bits.
func anyOf(arg int, any uint32) cond { return cond{arg: arg, any: any} }

func socketCalls(netlink bool) []rule {
	t := []rule{
		{"socketpair", unix.SYS_SOCKETPAIR, []cond{is(0, unix.AF_UNIX), {arg: 1, mask: sockType, in: []uint32{unix.SOCK_STREAM, unix.SOCK_SEQPACKET}}}, allow, "two ends inside the lock"},
		{"socketpair", unix.SYS_SOCKETPAIR, nil, refuse(unix.EACCES), "a datagram socket can name another peer in each message"},

		{"sendto", unix.SYS_SENDTO, []cond{anyOf(3, msgFastopen)}, refuse(unix.EACCES), "MSG_FASTOPEN connects"},
		{"sendmsg", unix.SYS_SENDMSG, []cond{anyOf(2, msgFastopen)}, refuse(unix.EACCES), "MSG_FASTOPEN connects"},
		{"sendmsg", unix.SYS_SENDMSG, nil, allow, "stream sockets take no peer from a message"},
		{"sendmmsg", unix.SYS_SENDMMSG, []cond{anyOf(3, msgFastopen)}, refuse(unix.EACCES), "MSG_FASTOPEN connects"},
		{"sendmmsg", unix.SYS_SENDMMSG, nil, allow, "stream sockets take no peer from a message"},
	}
	if !netlink {
		t = append(t, rule{"sendto", unix.SYS_SENDTO, []cond{{arg: 4, nonzero: true}}, refuse(unix.EACCES), "a peer named in a message: second line of defence, no socket here heeds it"})
	}
	return append(t,
		rule{"sendto", unix.SYS_SENDTO, nil, allow, "to the peer the supervisor connected; with Policy.Netlink also to the kernel"},

		rule{"accept", unix.SYS_ACCEPT, nil, allow, "a socket listens only after the supervisor made it"},
		rule{"accept4", unix.SYS_ACCEPT4, nil, allow, "a socket listens only after the supervisor made it"},
		rule{"recvfrom", unix.SYS_RECVFROM, nil, allow, "reads"},
		rule{"recvmsg", unix.SYS_RECVMSG, nil, allow, "reads; a descriptor can arrive only from a peer inside the lock or in UnixDirs"},
		rule{"recvmmsg", unix.SYS_RECVMMSG, nil, allow, "reads"},
		rule{"getsockname", unix.SYS_GETSOCKNAME, nil, allow, "reads"},
		rule{"getpeername", unix.SYS_GETPEERNAME, nil, allow, "reads"},
		rule{"getsockopt", unix.SYS_GETSOCKOPT, nil, allow, "reads; SCTP, where it can connect, has no sockets here"},
		rule{"shutdown", unix.SYS_SHUTDOWN, nil, allow, "closes"},
	)
}

// socketOptions is a list of what may be set, since the supervisor connects the
// command's own socket: source routing, a device, TCP_REPAIR or an upper layer
// protocol must not be on it.
func socketOptions() []rule {
	const call, nr = "setsockopt", unix.SYS_SETSOCKOPT
	return []rule{
		{call, nr, []cond{is(1, unix.SOL_SOCKET), is(2,
			unix.SO_REUSEADDR, unix.SO_REUSEPORT, unix.SO_KEEPALIVE, unix.SO_LINGER, unix.SO_OOBINLINE, unix.SO_BROADCAST,
			unix.SO_SNDBUF, unix.SO_RCVBUF, unix.SO_RCVLOWAT, unix.SO_RCVTIMEO, unix.SO_SNDTIMEO, unix.SO_PRIORITY,
			unix.SO_PASSCRED)}, allow, "buffers, timeouts, reuse of one's own address"},
		{call, nr, []cond{is(1, unix.IPPROTO_TCP), is(2,
			unix.TCP_NODELAY, unix.TCP_CORK, unix.TCP_QUICKACK, unix.TCP_KEEPIDLE, unix.TCP_KEEPINTVL, unix.TCP_KEEPCNT,
			unix.TCP_USER_TIMEOUT, unix.TCP_DEFER_ACCEPT, unix.TCP_SYNCNT, unix.TCP_NOTSENT_LOWAT, unix.TCP_CONGESTION,
			unix.TCP_LINGER2, unix.TCP_MAXSEG, unix.TCP_WINDOW_CLAMP)}, allow, "timing of an existing connection"},
		{call, nr, []cond{is(1, unix.IPPROTO_IP), is(2,
			unix.IP_TOS, unix.IP_TTL, unix.IP_RECVERR, unix.IP_MTU_DISCOVER, unix.IP_BIND_ADDRESS_NO_PORT)}, allow, "header fields that do not route"},
		{call, nr, []cond{is(1, unix.IPPROTO_IPV6), is(2,
			unix.IPV6_V6ONLY, unix.IPV6_TCLASS, unix.IPV6_RECVERR, unix.IPV6_UNICAST_HOPS)}, allow, "header fields that do not route"},
		{call, nr, nil, refuse(unix.EPERM), "everything else, known or not"},
	}
}

func escapes() []rule {
	t := []rule{
		{"seccomp", unix.SYS_SECCOMP, []cond{anyOf(1, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER)}, refuse(unix.EBUSY), "a second listener could answer in the supervisor's place"},
		{"seccomp", unix.SYS_SECCOMP, nil, allow, "a further filter only takes away"},
		{"clone", unix.SYS_CLONE, []cond{anyOf(0, nsFlags)}, refuse(unix.EPERM), "a user namespace gives capabilities, a network namespace other sockets"},
		{"clone", unix.SYS_CLONE, nil, allow, "processes and threads inherit the filter"},
		{"unshare", unix.SYS_UNSHARE, []cond{anyOf(0, nsFlags|unix.CLONE_NEWTIME)}, refuse(unix.EPERM), "as clone"},
		{"unshare", unix.SYS_UNSHARE, nil, allow, "descriptors and directories of a thread"},
		{"ioctl", unix.SYS_IOCTL, []cond{is(1, unix.TIOCSTI, 0x541c /* TIOCLINUX */, 0x5423 /* TIOCSETD */)}, refuse(unix.EPERM), "types into a terminal that an unlocked shell reads; a line discipline can be a network driver"},
		{"ioctl", unix.SYS_IOCTL, nil, allow, "devices and terminals; changing interfaces takes CAP_NET_ADMIN"},
	}
	for _, r := range []struct {
		call string
		nr   uint32
	}{{"io_uring_setup", unix.SYS_IO_URING_SETUP}, {"io_uring_enter", unix.SYS_IO_URING_ENTER}, {"io_uring_register", unix.SYS_IO_URING_REGISTER}} {
		t = append(t, rule{r.call, r.nr, nil, refuse(unix.ENOSYS), "makes and connects sockets past every filter"})
	}
	t = append(t, rule{"clone3", unix.SYS_CLONE3, nil, refuse(unix.ENOSYS), "its flags are in memory; libraries fall back to clone"})
	for _, r := range refused() {
		t = append(t, rule{r.call, r.nr, nil, refuse(unix.EPERM), r.why})
	}
	return t
}

// refused are the calls that are never needed inside and that reach outside.
func refused() []rule {
	const (
		other   = "reaches into another process or takes its descriptors"
		mounts  = "mounts; a network file system is a way out"
		keys    = "request_key makes the kernel ask helpers outside, among them a name resolver"
		ns      = "enters another namespace"
		program = "runs programs in the kernel or changes it"
		faults  = "holds up whoever reads the memory"
		handle  = "opens files past every path check"
	)
	return []rule{
		{"ptrace", unix.SYS_PTRACE, nil, 0, other},
		{"process_vm_readv", unix.SYS_PROCESS_VM_READV, nil, 0, other},
		{"process_vm_writev", unix.SYS_PROCESS_VM_WRITEV, nil, 0, other},
		{"pidfd_getfd", unix.SYS_PIDFD_GETFD, nil, 0, other},
		{"kcmp", unix.SYS_KCMP, nil, 0, other},
		{"process_madvise", unix.SYS_PROCESS_MADVISE, nil, 0, other},
		{"setns", unix.SYS_SETNS, nil, 0, ns},
		{"mount", unix.SYS_MOUNT, nil, 0, mounts},
		{"umount2", unix.SYS_UMOUNT2, nil, 0, mounts},
		{"pivot_root", unix.SYS_PIVOT_ROOT, nil, 0, mounts},
		{"open_tree", unix.SYS_OPEN_TREE, nil, 0, mounts},
		{"open_tree_attr", unix.SYS_OPEN_TREE_ATTR, nil, 0, mounts},
		{"move_mount", unix.SYS_MOVE_MOUNT, nil, 0, mounts},
		{"fsopen", unix.SYS_FSOPEN, nil, 0, mounts},
		{"fsconfig", unix.SYS_FSCONFIG, nil, 0, mounts},
		{"fsmount", unix.SYS_FSMOUNT, nil, 0, mounts},
		{"fspick", unix.SYS_FSPICK, nil, 0, mounts},
		{"mount_setattr", unix.SYS_MOUNT_SETATTR, nil, 0, mounts},
		{"keyctl", unix.SYS_KEYCTL, nil, 0, keys},
		{"add_key", unix.SYS_ADD_KEY, nil, 0, keys},
		{"request_key", unix.SYS_REQUEST_KEY, nil, 0, keys},
		{"bpf", unix.SYS_BPF, nil, 0, program},
		{"perf_event_open", unix.SYS_PERF_EVENT_OPEN, nil, 0, program},
		{"kexec_load", unix.SYS_KEXEC_LOAD, nil, 0, program},
		{"kexec_file_load", unix.SYS_KEXEC_FILE_LOAD, nil, 0, program},
		{"init_module", unix.SYS_INIT_MODULE, nil, 0, program},
		{"finit_module", unix.SYS_FINIT_MODULE, nil, 0, program},
		{"delete_module", unix.SYS_DELETE_MODULE, nil, 0, program},
		{"userfaultfd", unix.SYS_USERFAULTFD, nil, 0, faults},
		{"open_by_handle_at", unix.SYS_OPEN_BY_HANDLE_AT, nil, 0, handle},
	}
}
