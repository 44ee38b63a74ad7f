//go:build linux && (amd64 || arm64)

package netlock

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The command behaves as one of os/exec.
func TestCommandIsLikeExec(t *testing.T) {
	t.Parallel()
	allowed, _ := broker(t)
	sh := func(script string) *Cmd {
		c := Command(t.Context(), testPolicy(t, allowed), "sh", "-c", script)
		c.Dir = "/"
		return c
	}
	t.Run("streams, environment, directory", func(t *testing.T) {
		t.Parallel()
		c := sh(`cat; pwd; echo "$A-$LD_PRELOAD" >&2; echo $#`)
		c.Env, c.Stdin = []string{"PATH=" + os.Getenv("PATH"), "A=b"}, strings.NewReader("in ")
		var out, problems bytes.Buffer
		c.Stdout, c.Stderr = &out, &problems
		if err := c.Run(); err != nil || out.String() != "in /\n0\n" || problems.String() != "b-\n" {
			t.Errorf("%v %q %q", err, out.String(), problems.String())
		}
	})
	t.Run("exit status", func(t *testing.T) {
		t.Parallel()
		var exit *exec.ExitError
		c := sh("exit 3")
		if err := c.Run(); !errors.As(err, &exit) || exit.ExitCode() != 3 || c.ProcessState.ExitCode() != 3 {
			t.Errorf("%v", err)
		}
	})
	t.Run("signal status", func(t *testing.T) {
		t.Parallel()
		c := sh("kill -TERM $$")
		_ = c.Run()
		if ws := c.ProcessState.Sys().(syscall.WaitStatus); !ws.Signaled() || ws.Signal() != syscall.SIGTERM {
			t.Errorf("%v", c.ProcessState)
		}
	})
	t.Run("pipes", func(t *testing.T) {
		t.Parallel()
		c := sh("tr a b")
		in, err := c.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(in, "aaa")
		in.Close()
		b, err := io.ReadAll(out)
		if err != nil || string(b) != "bbb" {
			t.Errorf("%q %v", b, err)
		}
		if err := c.Wait(); err != nil {
			t.Error(err)
		}
	})
	t.Run("output", func(t *testing.T) {
		t.Parallel()
		if b, err := sh("echo x; echo y >&2").CombinedOutput(); err != nil || string(b) != "x\ny\n" {
			t.Errorf("%q %v", b, err)
		}
		if b, err := sh("echo x").Output(); err != nil || string(b) != "x\n" {
			t.Errorf("%q %v", b, err)
		}
		if got := sh("echo x").String(); !strings.HasSuffix(got, "sh -c echo x") {
			t.Errorf("%q", got)
		}
	})
	t.Run("large arguments and environment", func(t *testing.T) {
		t.Parallel()
		big := strings.Repeat("x", 100_000)
		c := Command(t.Context(), testPolicy(t, allowed), "sh", "-c", "echo ${#1} ${#E}", "sh", big)
		c.Env, c.Dir = []string{"E=" + big}, "/"
		if b, err := c.Output(); err != nil || string(b) != "100000 100000\n" {
			t.Errorf("%q %v", b, err)
		}
	})
}

func TestCommandThatCannotStart(t *testing.T) {
	t.Parallel()
	allowed, _ := broker(t)
	p := testPolicy(t, allowed)
	if err := Command(t.Context(), p, "netlock-no-such-program").Run(); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("%v", err)
	}
	if err := Command(t.Context(), p, "/no/such/program").Run(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	if err := Command(t.Context(), p, "/etc/passwd").Run(); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("%v", err)
	}
	if err := Command(t.Context(), p).Run(); err == nil {
		t.Error("no argument: no error")
	}
	var refused *PolicyError
	if err := Command(t.Context(), Policy{}, "true").Run(); !errors.As(err, &refused) {
		t.Errorf("%v", err)
	}
	c := Command(t.Context(), p, "true")
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 1}}
	if err := c.Run(); !errors.As(err, &refused) {
		t.Errorf("%v", err)
	}
	c = Command(t.Context(), p, "true")
	c.ExtraFiles = []*os.File{os.Stdin}
	if err := c.Run(); !errors.As(err, &refused) {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Command(ctx, p, "true").Run(); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	c = Command(t.Context(), p, "true")
	c.Dir = "/"
	if err := c.Run(); err != nil {
		t.Error(err)
	}
	if err := c.Start(); err == nil {
		t.Error("started twice")
	}
}

func TestCancelKillsTheCommandWhateverItsUser(t *testing.T) {
	t.Parallel()
	allowed, _ := broker(t)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	c := Command(ctx, testPolicy(t, allowed), "sleep", "60")
	c.Dir = "/"
	begin := time.Now()
	err := c.Run()
	if ws := c.ProcessState.Sys().(syscall.WaitStatus); err == nil || ws.Signal() != syscall.SIGKILL || time.Since(begin) > 20*time.Second {
		t.Errorf("%v after %v: %v", c.ProcessState, time.Since(begin), err)
	}
}

func TestSignalGroup(t *testing.T) {
	t.Parallel()
	allowed, _ := broker(t)
	c := Command(t.Context(), testPolicy(t, allowed), "sh", "-c", "sleep 60 & echo up; wait")
	c.Dir = "/"
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(out, make([]byte, 3)); err != nil {
		t.Fatal(err)
	}
	if err := c.SignalGroup(unix.SIGTERM); err != nil {
		t.Error(err)
	}
	if _, err := io.ReadAll(out); err != nil { // ends when sleep, too, is gone
		t.Error(err)
	}
	_ = c.Wait()
	if err := Command(t.Context(), testPolicy(t, allowed), "true").SignalGroup(unix.SIGTERM); err == nil {
		t.Error("signalled a group that never was")
	}
}

// A descriptor through which the command could walk past the filter.
func TestStandardDescriptorsAreChecked(t *testing.T) {
	t.Parallel()
	allowed, _ := broker(t)
	tcp, err := net.Dial("tcp4", allowed.String())
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	tcpFile, err := tcp.(*net.TCPConn).File()
	if err != nil {
		t.Fatal(err)
	}
	defer tcpFile.Close()
	file := func(domain, typ int) *os.File {
		fd, err := unix.Socket(domain, typ|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		f := os.NewFile(uintptr(fd), "socket")
		t.Cleanup(func() { f.Close() })
		return f
	}
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	anonymous := os.NewFile(uintptr(epoll), "epoll")
	defer anonymous.Close()
	for name, f := range map[string]*os.File{
		"TCP": tcpFile, "UDP": file(unix.AF_INET, unix.SOCK_DGRAM), "unix datagram": file(unix.AF_UNIX, unix.SOCK_DGRAM),
		"netlink": file(unix.AF_NETLINK, unix.SOCK_RAW), "anonymous": anonymous,
	} {
		for fd := range 3 {
			c := Command(t.Context(), testPolicy(t, allowed), "true")
			c.Dir = "/"
			switch fd {
			case 0:
				c.Stdin = f
			case 1:
				c.Stdout = f
			case 2:
				c.Stderr = f
			}
			var refused *PolicyError
			if err := c.Run(); !errors.As(err, &refused) {
				t.Errorf("%s as %d: %v", name, fd, err)
			}
		}
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	theirs, ours := os.NewFile(uintptr(pair[0]), "theirs"), os.NewFile(uintptr(pair[1]), "ours")
	defer ours.Close()
	c := Command(t.Context(), testPolicy(t, allowed), "echo", "hello")
	c.Dir, c.Stdout = "/", theirs
	err = c.Run()
	theirs.Close()
	if b, e := io.ReadAll(ours); err != nil || e != nil || string(b) != "hello\n" {
		t.Errorf("a unix stream: %q %v %v", b, err, e)
	}
}

// A descriptor that the supervisor's process has open, even without close-on-exec.
func TestNoOtherDescriptorIsInherited(t *testing.T) {
	t.Parallel()
	allowed, _ := broker(t)
	f, err := os.Open(filepath.Join(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	fd, err := unix.Dup(int(f.Fd())) // without close-on-exec
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	c := Command(t.Context(), testPolicy(t, allowed), "sh", "-c", "ls /proc/$$/fd")
	c.Dir = "/"
	if b, err := c.Output(); err != nil || strings.Fields(string(b))[0] != "0" || len(strings.Fields(string(b))) > 4 {
		t.Errorf("%q %v", b, err)
	} else if strings.Contains(string(b), "\n"+strconv.Itoa(fd)+"\n") {
		t.Errorf("descriptor %d: %q", fd, b)
	}
}
