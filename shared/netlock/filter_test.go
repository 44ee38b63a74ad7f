//go:build linux && (amd64 || arm64)

package netlock

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A verdict is what the filter must answer, written down apart from the table.
type verdict struct {
	nr   uint32
	args [6]uint64
	want action
}

const (
	eacces = action(unix.SECCOMP_RET_ERRNO | uint32(unix.EACCES))
	eperm  = action(unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM))
	enosys = action(unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS))
	ebusy  = action(unix.SECCOMP_RET_ERRNO | uint32(unix.EBUSY))
)

// settable are the socket options that programs need, by level.
var settable = map[uint64][]uint64{
	unix.SOL_SOCKET:   {2, 15, 9, 13, 10, 6, 7, 8, 18, 20, 21, 12, 16},
	unix.IPPROTO_TCP:  {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 18, 25},
	unix.IPPROTO_IP:   {1, 2, 10, 11, 24},
	unix.IPPROTO_IPV6: {16, 25, 26, 67},
}

func verdicts(netlink bool) []verdict {
	const garbage, fastopen = 0xdead << 32, 0x20000000
	v := []verdict{
		{unix.SYS_CONNECT, [6]uint64{3, 4, 16}, notify},
		{unix.SYS_BIND, [6]uint64{3, 4, 16}, notify},
		{unix.SYS_LISTEN, [6]uint64{3, 5}, notify},
		{unix.SYS_SOCKETPAIR, [6]uint64{1, 1}, allow},
		{unix.SYS_SOCKETPAIR, [6]uint64{1, 5 | 0x80000}, allow},
		{unix.SYS_SOCKETPAIR, [6]uint64{1 | garbage, 1 | garbage}, allow},
		{unix.SYS_SOCKETPAIR, [6]uint64{1, 2}, eacces},
		{unix.SYS_SOCKETPAIR, [6]uint64{2, 1}, eacces},
		{unix.SYS_SENDTO, [6]uint64{3, 4, 5, fastopen}, eacces},
		{unix.SYS_SENDTO, [6]uint64{3, 4, 5, 0x4000}, allow},
		{unix.SYS_SENDMSG, [6]uint64{3, 4, fastopen | 1 | garbage}, eacces},
		{unix.SYS_SENDMSG, [6]uint64{3, fastopen, 0x4000}, allow},
		{unix.SYS_SENDMMSG, [6]uint64{3, 4, 1, fastopen}, eacces},
		{unix.SYS_SENDMMSG, [6]uint64{3, 4, 1, 0}, allow},
		{unix.SYS_SECCOMP, [6]uint64{1, 8}, ebusy},
		{unix.SYS_SECCOMP, [6]uint64{1, 0x29}, ebusy},
		{unix.SYS_SECCOMP, [6]uint64{1, 0}, allow},
		{unix.SYS_CLONE, [6]uint64{17}, allow},
		{unix.SYS_CLONE, [6]uint64{0x3d0f00}, allow},
		{unix.SYS_UNSHARE, [6]uint64{0x400}, allow},
		{unix.SYS_UNSHARE, [6]uint64{0x80}, eperm},
		{unix.SYS_IOCTL, [6]uint64{0, 0x5401}, allow},
		{unix.SYS_IOCTL, [6]uint64{0, 0x5412}, eperm},
		{unix.SYS_IOCTL, [6]uint64{0, 0x541c}, eperm},
		{unix.SYS_IOCTL, [6]uint64{0, 0x5423}, eperm},
		{unix.SYS_IOCTL, [6]uint64{0, 0x5412 | garbage}, eperm},
		{unix.SYS_CLONE3, [6]uint64{}, enosys},
		{unix.SYS_IO_URING_SETUP, [6]uint64{}, enosys},
		{unix.SYS_IO_URING_ENTER, [6]uint64{}, enosys},
		{unix.SYS_IO_URING_REGISTER, [6]uint64{}, enosys},
		{471, [6]uint64{}, allow},
		{472, [6]uint64{}, enosys},
		{1 << 20, [6]uint64{}, enosys},
		{0x3fffffff, [6]uint64{}, enosys},
		{0x40000000, [6]uint64{}, kill},
		{0x40000000 | unix.SYS_CONNECT, [6]uint64{}, kill},
		{^uint32(0), [6]uint64{}, kill},
	}
	for _, ns := range []uint64{0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000} {
		v = append(v, verdict{unix.SYS_CLONE, [6]uint64{ns | 17}, eperm}, verdict{unix.SYS_UNSHARE, [6]uint64{ns | garbage}, eperm})
	}
	for _, nr := range []uint32{
		unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PIDFD_GETFD, unix.SYS_KCMP, unix.SYS_PROCESS_MADVISE,
		unix.SYS_SETNS, unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_OPEN_TREE, unix.SYS_OPEN_TREE_ATTR, unix.SYS_MOVE_MOUNT,
		unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR, unix.SYS_KEYCTL, unix.SYS_ADD_KEY,
		unix.SYS_REQUEST_KEY, unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_INIT_MODULE,
		unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_USERFAULTFD, unix.SYS_OPEN_BY_HANDLE_AT,
	} {
		v = append(v, verdict{nr, [6]uint64{}, eperm})
	}
	for _, level := range []uint64{0, 1, 6, 17, 41, 255, 282, 284, 0xffffffff} {
		for name := range uint64(90) {
			want := eperm
			if slices.Contains(settable[level], name) {
				want = allow
			}
			v = append(v, verdict{unix.SYS_SETSOCKOPT, [6]uint64{3, level, name}, want})
		}
	}
	for _, nr := range []uint32{
		unix.SYS_ACCEPT, unix.SYS_ACCEPT4, unix.SYS_RECVFROM, unix.SYS_RECVMSG, unix.SYS_RECVMMSG, unix.SYS_GETSOCKNAME, unix.SYS_GETPEERNAME,
		unix.SYS_GETSOCKOPT, unix.SYS_SHUTDOWN, unix.SYS_READ, unix.SYS_WRITE, unix.SYS_EXECVE, unix.SYS_OPENAT, unix.SYS_EXIT_GROUP,
		unix.SYS_PPOLL, unix.SYS_SPLICE, unix.SYS_SENDFILE, unix.SYS_LANDLOCK_CREATE_RULESET, unix.SYS_PIDFD_OPEN,
	} {
		v = append(v, verdict{nr, [6]uint64{1 << 31, 1 << 31, 1 << 31, 1 << 31}, allow})
	}
	return append(v, netlinkVerdicts(netlink)...)
}

func netlinkVerdicts(netlink bool) []verdict {
	v := []verdict{
		{unix.SYS_SOCKET, [6]uint64{2, 1, 0}, notify},
		{unix.SYS_SOCKET, [6]uint64{2, 2, 0}, notify},
		{unix.SYS_SOCKET, [6]uint64{16, 3, 4}, notify},
		{unix.SYS_SOCKET, [6]uint64{2, 3, 0}, notify},
		{unix.SYS_SOCKET, [6]uint64{17, 3, 0}, notify},
	}
	if netlink {
		return append(v,
			verdict{unix.SYS_SOCKET, [6]uint64{16, 3, 0}, allow}, verdict{unix.SYS_SOCKET, [6]uint64{16, 2, 16}, notify},
			verdict{unix.SYS_SENDTO, [6]uint64{3, 4, 5, 0, 6, 12}, allow}, verdict{unix.SYS_SENDTO, [6]uint64{3, 4, 5, 0x20000000, 6, 12}, eacces})
	}
	return append(v,
		verdict{unix.SYS_SOCKET, [6]uint64{16, 3, 0}, notify}, verdict{unix.SYS_SENDTO, [6]uint64{3, 4, 5, 0, 6, 12}, eacces},
		verdict{unix.SYS_SENDTO, [6]uint64{3, 4, 5, 0, 1 << 40, 0}, eacces}, verdict{unix.SYS_SENDTO, [6]uint64{3, 4, 5, 0, 0, 12}, allow})
}

// checkVerdicts tells the first call that a program answers wrongly.
func checkVerdicts(p program, netlink bool) error {
	for _, v := range verdicts(netlink) {
		got, err := p.run(auditArch, v.nr, v.args)
		if err != nil || got != v.want {
			return fmt.Errorf("call %d %#x: %#x, want %#x (%v)", v.nr, v.args, got, v.want, err)
		}
	}
	return nil
}

// kernelCalls reads the kernel's list of an architecture.
func kernelCalls(t testing.TB, arch string) map[string]uint32 {
	t.Helper()
	b, err := os.ReadFile("testdata/syscalls_" + arch + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	calls := map[string]uint32{}
	for line := range strings.Lines(string(b)) {
		var nr uint32
		var name string
		if _, err := fmt.Sscan(line, &nr, &name); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		calls[name] = nr
	}
	return calls
}

func reviewed(t testing.TB) map[string]string {
	t.Helper()
	b, err := os.ReadFile("testdata/reviewed.txt")
	if err != nil {
		t.Fatal(err)
	}
	m := map[string]string{}
	for line := range strings.Lines(string(b)) {
		if name, class, ok := strings.Cut(strings.TrimSpace(line), " "); ok && name != "#" {
			m[name] = class
		}
	}
	return m
}

// checkNamed tells the first call of the kernel's list that the table should
// name and does not, or the other way round.
func checkNamed(rules []rule, calls map[string]uint32, class map[string]string) error {
	named := map[string]bool{}
	for _, r := range rules {
		named[r.call] = true
		if nr, ok := calls[r.call]; ok && nr != r.nr {
			return fmt.Errorf("%s has number %d, the kernel's list says %d", r.call, r.nr, nr)
		}
	}
	for call := range calls {
		switch class[call] {
		case "network", "escape":
			if !named[call] {
				return fmt.Errorf("%s (%s) has no rule", call, class[call])
			}
		case "inside":
			if named[call] {
				return fmt.Errorf("%s has a rule and was found harmless", call)
			}
		default:
			return fmt.Errorf("%s was not reviewed", call)
		}
	}
	return nil
}

func TestFilterVerdicts(t *testing.T) {
	t.Parallel()
	for _, netlink := range []bool{false, true} {
		p := assemble(table(netlink))
		if err := checkVerdicts(p, netlink); err != nil {
			t.Errorf("netlink %t: %v", netlink, err)
		}
		if len(p) > 1024 {
			t.Errorf("%d instructions", len(p))
		}
		for _, arch := range []uint32{0x40000003 /* i386 */, 0x40000028 /* ARM */, 0} {
			for _, nr := range []uint32{unix.SYS_CONNECT, 102, 362} {
				if got, err := p.run(arch, nr, [6]uint64{}); err != nil || got != kill {
					t.Errorf("architecture %#x call %d: %#x %v", arch, nr, got, err)
				}
			}
		}
	}
}

func TestTableNamesEveryNetworkingCall(t *testing.T) {
	t.Parallel()
	class := reviewed(t)
	names := func(arch string) map[string]uint32 {
		calls := kernelCalls(t, arch)
		if arch == runtime.GOARCH {
			return calls
		}
		for name := range calls {
			for _, r := range table(true) { // the numbers are the other architecture's
				if r.call == name {
					calls[name] = r.nr
				}
			}
		}
		return calls
	}
	for _, arch := range []string{"amd64", "arm64"} {
		for _, netlink := range []bool{false, true} {
			if err := checkNamed(table(netlink), names(arch), class); err != nil {
				t.Errorf("%s: %v", arch, err)
			}
		}
	}
	for _, r := range table(true) {
		if r.why == "" || r.call == "" {
			t.Errorf("a rule without a name or reason: %+v", r)
		}
	}
}

// The checked-in lists are those of golang.org/x/sys, which are made from the
// kernel's: a newer x/sys with a new call must be looked at.
func TestKernelListsAreCurrent(t *testing.T) {
	t.Parallel()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "golang.org/x/sys").Output()
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^\tSYS_([A-Z0-9_]+) += ([0-9]+)$`)
	for _, arch := range []string{"amd64", "arm64"} {
		b, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "unix", "zsysnum_linux_"+arch+".go"))
		if err != nil {
			t.Fatal(err)
		}
		calls := kernelCalls(t, arch)
		found := line.FindAllStringSubmatch(string(b), -1)
		for _, m := range found {
			nr, err := strconv.Atoi(m[2])
			if got, ok := calls[strings.ToLower(m[1])]; err != nil || !ok || got != uint32(nr) || nr > lastKnown {
				t.Errorf("%s %s: list %d, x/sys %s, last known %d", arch, m[1], got, m[2], lastKnown)
			}
		}
		if len(found) != len(calls) {
			t.Errorf("%s: %d calls in x/sys, %d in the list", arch, len(found), len(calls))
		}
	}
}

func TestHotCallsHaveNoRule(t *testing.T) {
	t.Parallel()
	for _, r := range table(true) {
		if slices.Contains(hot, r.nr) {
			t.Errorf("%s is answered before its rule", r.call)
		}
	}
}

// checkClosed tells the first call whose rules do not end with an answer.
func checkClosed(rules []rule) error {
	for _, g := range byCall(rules) {
		if last := g[len(g)-1]; len(last.when) > 0 {
			return fmt.Errorf("%s: what if not %v?", last.call, last.when)
		}
	}
	return nil
}

func TestLastRuleOfACallHasNoCondition(t *testing.T) {
	t.Parallel()
	for _, netlink := range []bool{false, true} {
		if err := checkClosed(table(netlink)); err != nil {
			t.Error(err)
		}
	}
}
