//go:build linux && (amd64 || arm64)

package netlock

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// probeConfig is what the attacker is told.
type probeConfig struct {
	Allowed, Evil4, Evil6 netip.AddrPort
	UDP                   netip.AddrPort
	Abstract              string // a unix server outside
	Dir                   string // a directory of UnixDirs, writable
	Listen, Netlink       bool
	Shared                bool // user of the supervisor
	Signals               bool // must not be able to signal the supervisor
	Race                  time.Duration
	Child                 string // a part to play as a process of the attacker's
}

// probeEnv holds the configuration of the attacker.
const probeEnv = "NETLOCK_SELFTEST"

// raceSelfTest is how long each of the three races goes on. They take all of two
// processors meanwhile, which the checkout beside them needs; a kernel that
// answers a race wrongly does so in some of the hundred tries of this time, and
// CI races for minutes.
const raceSelfTest = 20 * time.Millisecond

// SelfTest runs an attacker under the policy, against addresses of its own on
// loopback, and tells whether the lock held. Its error says that it could not
// be run at all. It takes a seventh of a second. Run it where the commands will run,
// before the first of them, and run none if the report does not hold.
func SelfTest(ctx context.Context, p Policy) (Report, error) {
	return selfTest(ctx, p, raceSelfTest)
}

func selfTest(ctx context.Context, p Policy, race time.Duration) (r Report, err error) {
	r = describeMachine(p)
	if err := p.Validate(); err != nil {
		return r, err
	}
	sinks, err := openSinks()
	if err != nil {
		return r, fmt.Errorf("netlock: self-test: %w", err)
	}
	defer sinks.close()
	dir, err := probeDir(p)
	if err != nil {
		return r, fmt.Errorf("netlock: self-test: %w", err)
	}
	defer os.RemoveAll(dir)
	shared := p.shared(identity{uid: os.Geteuid()})
	conf := probeConfig{
		Allowed: sinks.allowed, Evil4: sinks.evil4, Evil6: sinks.evil6, UDP: sinks.udp, Abstract: sinks.abstract, Dir: dir,
		Listen: p.Listen, Netlink: p.Netlink, Shared: shared, Signals: !shared || r.Landlock >= landlockSignals, Race: race,
	}
	p.Allow, p.UnixDirs = []netip.AddrPort{sinks.allowed}, append([]string{dir}, p.UnixDirs...)
	if p.locksPaths() {
		exe, err := os.Executable()
		if err != nil {
			return r, fmt.Errorf("netlock: self-test: %w", err)
		}
		p.ReadOnly, p.ReadWrite = append([]string{exe, "/proc"}, p.ReadOnly...), append([]string{dir}, p.ReadWrite...)
	}
	if r.Checks, err = runProbe(ctx, p, conf); err != nil {
		return r, err
	}
	r.Leaks = int(sinks.leaks.Load())
	return r, nil
}

func runProbe(ctx context.Context, p Policy, conf probeConfig) ([]Check, error) {
	b, err := json.Marshal(conf)
	if err != nil {
		return nil, fmt.Errorf("netlock: self-test: %w", err)
	}
	c := Command(ctx, p, "/proc/self/exe")
	c.Args = []string{probeName}
	c.Env = []string{probeEnv + "=" + string(b)}
	c.Dir = "/"
	var out, problems bytes.Buffer
	c.Stdout, c.Stderr = &out, &problems
	if err := c.Run(); err != nil {
		return nil, fmt.Errorf("netlock: self-test: %w: %s", err, problems.String())
	}
	var checks []Check
	for dec := json.NewDecoder(&out); ; {
		var k Check
		if err := dec.Decode(&k); err != nil {
			break
		}
		checks = append(checks, k)
	}
	if n := len(checks); n == 0 || checks[n-1].Name != probeDone {
		return nil, errors.New("netlock: self-test: the attacker did not finish: " + problems.String())
	}
	return checks[:len(checks)-1], nil
}

// probeDir makes a directory that the command may write to.
func probeDir(p Policy) (string, error) {
	base, err := filepath.EvalSymlinks(os.TempDir())
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp(base, "netlock")
	if err != nil {
		return "", err
	}
	if p.UID != 0 { // without CAP_CHOWN: open to all, under a name nobody knows
		if err := os.Chmod(dir, 0o777); err != nil { //nolint:gosec // it is empty, and lives as long as the self-test
			return "", err
		}
	}
	return dir, nil
}

// sinks are servers of the supervisor: one that may be reached, others that must not.
type sinks struct {
	allowed, evil4, evil6, udp netip.AddrPort
	abstract                   string
	leaks                      atomic.Int64
	open                       []interface{ Close() error }
	running                    sync.WaitGroup
}

func openSinks() (s *sinks, err error) {
	s = &sinks{abstract: fmt.Sprintf("@netlock-%d-%d", os.Getpid(), time.Now().UnixNano())}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	if s.allowed, err = s.tcp("tcp4", "127.0.0.1:0", new(atomic.Int64)); err != nil {
		return nil, err
	}
	if s.evil4, err = s.tcp("tcp4", "127.0.0.1:0", &s.leaks); err != nil {
		return nil, err
	}
	if s.evil6, err = s.tcp("tcp6", "[::1]:0", &s.leaks); err != nil {
		s.evil6 = netip.AddrPortFrom(netip.IPv6Loopback(), s.evil4.Port()) // no IPv6 here
	}
	l, err := net.Listen("unix", s.abstract)
	if err != nil {
		return nil, err
	}
	s.serve(l, &s.leaks)
	u, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s.udp = u.LocalAddr().(*net.UDPAddr).AddrPort()
	s.open = append(s.open, u)
	s.running.Add(1)
	go func() {
		defer s.running.Done()
		for b := make([]byte, 1); ; {
			if _, _, err := u.ReadFrom(b); err != nil {
				return
			}
			s.leaks.Add(1)
		}
	}()
	return s, nil
}

func (s *sinks) tcp(network, at string, count *atomic.Int64) (netip.AddrPort, error) {
	l, err := net.Listen(network, at)
	if err != nil {
		return netip.AddrPort{}, err
	}
	s.serve(l, count)
	return l.Addr().(*net.TCPAddr).AddrPort(), nil
}

func (s *sinks) serve(l net.Listener, count *atomic.Int64) {
	s.open = append(s.open, l)
	s.running.Add(1)
	go func() {
		defer s.running.Done()
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			count.Add(1)
			c.Close()
		}
	}()
}

func (s *sinks) close() {
	for _, c := range s.open {
		_ = c.Close() // what is left ends with its listener
	}
	s.running.Wait()
}

// kernelRelease is empty where the kernel does not say.
func kernelRelease() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return ""
	}
	return unix.ByteSliceToString(u.Release[:])
}

func describeMachine(p Policy) Report {
	r := Report{Arch: runtime.GOARCH, Yama: -1, Filters: -1, Landlock: landlockVersion(), UID: p.UID, GID: p.GID}
	if p.UID == 0 {
		r.UID, r.GID = os.Geteuid(), os.Getegid()
	}
	r.Kernel = kernelRelease()
	if b, err := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope"); err == nil {
		if v, err := strconv.Atoi(strings.TrimSpace(string(b))); err == nil {
			r.Yama = v
		}
	}
	status := procStatus("self")
	if v, err := strconv.Atoi(status["Seccomp_filters"]); err == nil {
		r.Filters = v
	}
	if caps, err := strconv.ParseUint(status["CapPrm"], 16, 64); err == nil {
		r.Ptrace = caps&(1<<unix.CAP_SYS_PTRACE) != 0
	}
	return r
}

// procStatus reads /proc/PID/status.
func procStatus(pid string) map[string]string {
	b, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		return nil
	}
	m := map[string]string{}
	for line := range strings.Lines(string(b)) {
		k, v, _ := strings.Cut(line, ":")
		m[k] = strings.TrimSpace(v)
	}
	return m
}
