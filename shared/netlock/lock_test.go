//go:build linux && (amd64 || arm64)

package netlock

import (
	"bufio"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestWhatACommandCanReach(t *testing.T) {
	t.Parallel()
	allowed, s := broker(t)
	var mu sync.Mutex
	var events []Event
	c := roleCommand(t, testPolicy(t, allowed), "dial", allowed.String(), s.evil4.String(), "192.0.2.1:443", "udp:", "unix:/run/docker.sock", allowed.String())
	c.Events = func(e Event) { mu.Lock(); events = append(events, e); mu.Unlock() }
	out, err := c.Output()
	if err != nil || string(out) != "ok\nECONNREFUSED\nEACCES\nEACCES\nEACCES\nok\n" {
		t.Errorf("%q %v", out, err)
	}
	if n := s.leaks.Load(); n != 0 {
		t.Errorf("%d leaks", n)
	}
	for _, want := range []string{
		"allowed: connection to " + allowed.String(), "refused: connection to " + s.evil4.String(), "refused: connection to 192.0.2.1:443",
		"refused: socket IPv4 datagram (UDP; name lookups use it)", "refused: connection to unix:/run/docker.sock",
	} {
		if !slices.ContainsFunc(events, func(e Event) bool { return strings.HasPrefix(e.String(), want) && e.PID > 0 }) {
			t.Errorf("no event %q in %v", want, events)
		}
	}
}

// After Wait the lock is closed: what was left behind has no network.
func TestLeftoverHasNoNetwork(t *testing.T) {
	t.Parallel()
	allowed, s := broker(t)
	dir := sharedDir(t)
	p := testPolicy(t, allowed)
	if p.locksPaths() {
		p.ReadWrite = append(p.ReadWrite, dir)
	}
	if out, err := roleCommand(t, p, "daemon", dir, allowed.String(), s.evil4.String(), "udp:").CombinedOutput(); err != nil {
		t.Fatalf("%s %v", out, err)
	}
	if got := releaseAndRead(t, dir); got != "ENOSYS ENOSYS ENOSYS" {
		t.Errorf("%q", got)
	}
}

// A supervisor that is killed leaves a command without any network.
func TestKilledSupervisor(t *testing.T) {
	t.Parallel()
	allowed, s := broker(t)
	dir := sharedDir(t)
	uid := "0"
	if os.Geteuid() == 0 {
		uid = fmt.Sprint(testUser)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	sup := exec.Command(exe)
	sup.Env = append(os.Environ(), roleEnv+"=supervisor", "NETLOCK_TEST_ARGS="+strings.Join([]string{uid, dir, allowed.String(), s.evil4.String(), "udp:"}, " "))
	sup.Dir = "/"
	out, err := sup.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := sup.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "up\n" {
		t.Fatalf("%q %v", line, err)
	}
	if err := sup.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = sup.Wait()
	if got := releaseAndRead(t, dir); got != "ENOSYS ENOSYS ENOSYS" {
		t.Errorf("%q", got)
	}
	if n := s.leaks.Load(); n != 0 {
		t.Errorf("%d leaks", n)
	}
}

func releaseAndRead(t *testing.T, dir string) string {
	t.Helper()
	if err := os.WriteFile(dir+"/go", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		if b, err := os.ReadFile(dir + "/result"); err == nil {
			return string(b)
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("the process left behind did not report")
	return ""
}

// The kernel gives out one listener: a lock inside a lock does not start.
func TestNestedLockIsBusy(t *testing.T) {
	t.Parallel()
	allowed, _ := broker(t)
	p := testPolicy(t, allowed)
	c := roleCommand(t, p, "nested")
	out, err := c.CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "true ") {
		t.Errorf("%s %v", out, err)
	}
}

// A shim that somebody starts by hand does nothing.
func TestShimByHand(t *testing.T) {
	t.Parallel()
	for _, name := range []string{shimName, probeName} {
		c := exec.Command("/proc/self/exe")
		c.Args = []string{name, "-c", "id"}
		out, err := c.CombinedOutput()
		if err == nil || c.ProcessState.ExitCode() < 1 {
			t.Errorf("%s: %q %v", name, out, err)
		}
	}
}

// A flood of refused calls leaves a bounded trail, and the lock goes on.
func TestFlood(t *testing.T) {
	t.Parallel()
	allowed, _ := broker(t)
	c := roleCommand(t, testPolicy(t, allowed), "flood", "20000", allowed.String())
	n := 0
	c.Events = func(Event) { n++ }
	begin := time.Now()
	out, err := c.Output()
	if err != nil || string(out) != "ok\n" {
		t.Errorf("%q %v", out, err)
	}
	if most := (int(time.Since(begin)/eventWindow) + 2) * (eventsWindow + eventKeys + 1); n > most {
		t.Errorf("%d events in %v", n, time.Since(begin))
	}
}

// fullBacklog is a server that accepts nobody, and has no place for more to wait.
func fullBacklog(t *testing.T) netip.AddrPort {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := unix.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	full := localAddr(fd)
	for range 4 {
		c, err := net.DialTimeout("tcp4", full.String(), 100*time.Millisecond)
		if err == nil {
			t.Cleanup(func() { c.Close() })
		}
	}
	return full
}

// A server that does not accept holds the command up, not the lock.
func TestFullBacklog(t *testing.T) {
	t.Parallel()
	full := fullBacklog(t)
	p := testPolicy(t, full)
	begin := time.Now()
	out, err := roleCommand(t, p, "dial", full.String()).Output()
	if took := time.Since(begin); err != nil || string(out) != "ETIMEDOUT\n" || took > 4*maxConnect {
		t.Errorf("%q %v after %v", out, err, took)
	}
}

// A signal of our own runtime does not change what the command is told.
func TestConnectUnderSignals(t *testing.T) {
	t.Parallel()
	full := fullBacklog(t)
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(s)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	me, quit := unix.Gettid(), make(chan struct{})
	var signals sync.WaitGroup
	signals.Go(func() {
		for tick := time.Tick(50 * time.Millisecond); ; {
			select {
			case <-tick:
				_ = unix.Tgkill(os.Getpid(), me, unix.SIGURG)
			case <-quit:
				return
			}
		}
	})
	begin := time.Now()
	e := connectBounded(s, sockaddr(unix.AF_INET, full))
	close(quit)
	signals.Wait()
	if took := time.Since(begin); e != unix.ETIMEDOUT || took > 4*maxConnect {
		t.Errorf("%v after %v", e, took)
	}
}

// Landlock keeps the command to its paths.
func TestPaths(t *testing.T) {
	t.Parallel()
	if landlockVersion() == 0 {
		if err := restrictPaths([]string{"/tmp"}, nil); err == nil {
			t.Error("paths restricted without Landlock")
		}
		return
	}
	allowed, _ := broker(t)
	in, out := sharedDir(t), sharedDir(t)
	p := testPolicy(t, allowed)
	p.ReadOnly, p.ReadWrite = []string{"/bin", "/usr", "/lib", "/lib64", "/etc"}, []string{in, "/dev/null"}
	p.ReadOnly = slices.DeleteFunc(p.ReadOnly, func(f string) bool { _, err := os.Stat(f); return err != nil })
	c := Command(t.Context(), p, "/bin/sh", "-c", fmt.Sprintf("echo x > %s/f && cat %s/f; mkdir %s/a %s/b && mv %s/f %s/a/ && echo moved; echo x > %s/f; ls %s; ls /proc/self; cat /etc/passwd > /dev/null && echo read", in, in, in, in, in, in, out, out))
	c.Dir = in
	b, err := c.Output()
	if err != nil || string(b) != "x\nmoved\nread\n" {
		t.Errorf("%q %v", b, err)
	}
}
