package storetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"companyos/shared/store/embedded"
)

const (
	idle         = 5 * time.Second
	watchdogFlag = "COMPANY_STORETEST_WATCHDOG"
)

// A test binary started with the flag is the watchdog and not a test.
//
// Something must outlive the test processes to end the server: they end without notice (no TestMain, a panic, kill -9),
// and the server knows no idle time. The only program that is certainly at hand is the test binary: `go run` needs the
// toolchain, which a compiled test may not have, and a shell would need a flock command. And the only moment before the
// tests of a package that belongs to another package is the initialisation. Only test binaries link this package.
var _ = becomeWatchdog(os.Getenv(watchdogFlag))

func becomeWatchdog(dir string) bool {
	if dir == "" {
		return false
	}
	// The lock was taken by whoever started this process and is open as 3: it is held at every moment.
	lock := os.NewFile(3, "watchdog.lock")
	syscall.CloseOnExec(3)
	if err := watch(context.Background(), dir, lock); err != nil {
		_ = os.WriteFile(filepath.Join(dir, "watchdog.log"), []byte(err.Error()+"\n"), 0o600)
		os.Exit(1)
	}
	os.Exit(0)
	return true
}

// startWatchdog starts this binary as the watchdog, in a session of its own and without this process's outputs: `go
// test` waits until nobody has them open.
func startWatchdog(dir string, lock *os.File) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	if _, err := os.Stat("/proc/self/exe"); err == nil {
		exe = "/proc/self/exe" // also when the file is gone by now
	}
	c := exec.Command(exe)
	c.Args[0] = "storetest-watchdog"
	c.Dir = "/"
	c.Env = []string{watchdogFlag + "=" + dir}
	c.ExtraFiles = []*os.File{lock}
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := c.Start(); err != nil {
		return err
	}
	if err := lock.Truncate(0); err != nil {
		return err
	}
	if _, err := lock.WriteAt(fmt.Appendln(nil, c.Process.Pid), 0); err != nil { // for whoever wonders
		return err
	}
	return c.Process.Release()
}

// watch ends the server when it has had no client for the idle time.
func watch(ctx context.Context, dir string, lock *os.File) error {
	for last := time.Now(); ; time.Sleep(idle / 20) {
		clients, err := embedded.TryLock(filepath.Join(dir, "clients.lock"))
		if errors.Is(err, syscall.EWOULDBLOCK) {
			last = time.Now()
			continue
		}
		if err != nil {
			return err
		}
		info, err := clients.Stat()
		clients.Close()
		if err != nil {
			return err
		}
		if info.ModTime().After(last) {
			last = info.ModTime()
		}
		if time.Since(last) < idle {
			continue
		}
		if ended, err := endServer(ctx, dir, lock); ended || err != nil {
			return err
		}
	}
}

// endServer ends the server unless a client has come meanwhile.
func endServer(ctx context.Context, dir string, lock *os.File) (bool, error) {
	tests, err := embedded.Lock(ctx, filepath.Join(dir, "tests.lock"))
	if err != nil {
		return false, err
	}
	defer tests.Close()
	clients, err := embedded.TryLock(filepath.Join(dir, "clients.lock"))
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer clients.Close()
	defer lock.Close() // before the other two: a client that comes now must find that no watchdog runs
	s, err := embedded.Attach(ctx, dir)
	if errors.Is(err, embedded.ErrNotRunning) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	return true, s.Stop(ctx)
}
