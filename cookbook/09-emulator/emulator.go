package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const region = "us-east-1"

// emulator is ministack as a process: Lambda functions are its children, ECS tasks containers of this machine's engine.
type emulator struct {
	port  int
	url   string // for this machine and for containers
	cmd   *exec.Cmd
	ended chan struct{} // closed when the process is over
	log   string
}

// startEmulator starts it on a free port. It is told its own address, since functions inherit it: they would call AWS
// otherwise.
func startEmulator(ctx context.Context, t tools, folder string) (*emulator, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	e := &emulator{port: port, url: fmt.Sprintf("http://%s:%d", t.bridge, port), ended: make(chan struct{}), log: filepath.Join(folder, "emulator.log")}
	log, err := os.Create(e.log)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	e.cmd = exec.Command(t.ministack)
	// All interfaces: containers come by the bridge, pushes of images by loopback, the only plain http that an engine trusts.
	e.cmd.Env = append(os.Environ(), "GATEWAY_PORT="+strconv.Itoa(port), "BIND_HOST=0.0.0.0", "AWS_ENDPOINT_URL="+e.url, "TMPDIR="+folder)
	e.cmd.Env = append(e.cmd.Env, credentials()...)
	e.cmd.Dir, e.cmd.Stdout, e.cmd.Stderr = folder, log, log
	e.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := e.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = e.cmd.Wait() // how it ended is in its state
		close(e.ended)
	}()
	return e, e.ready(ctx)
}

// credentials are for this emulator alone: the CDK remembers whose account a key is.
func credentials() []string {
	return []string{"AWS_ACCESS_KEY_ID=company-emulator", "AWS_SECRET_ACCESS_KEY=company-emulator", "AWS_REGION=" + region, "AWS_DEFAULT_REGION=" + region, "AWS_EC2_METADATA_DISABLED=true"}
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}

func (e *emulator) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, e.url+"/_ministack/health", nil)
		if err != nil {
			return err
		}
		if res, err := http.DefaultClient.Do(req); err == nil {
			_ = res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-e.ended:
			text, _ := os.ReadFile(e.log)
			return fmt.Errorf("the emulator ended: %s\n%s", e.cmd.ProcessState, text)
		case <-ctx.Done():
			return errors.New("the emulator did not answer within a minute")
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// stop ends the emulator and its functions; it removes its containers itself.
func (e *emulator) stop() error {
	if e.cmd.Process == nil {
		return nil
	}
	_ = e.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-e.ended:
	case <-time.After(20 * time.Second):
	}
	// Functions that outlive it are in its process group.
	if err := syscall.Kill(-e.cmd.Process.Pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}

// command runs a program against the emulator and returns its output. An error holds what it printed.
func (e *emulator) command(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "AWS_ENDPOINT_URL="+e.url, "CI=true", "CDK_DISABLE_VERSION_CHECK=1")
	cmd.Env = append(cmd.Env, credentials()...)
	var out, all bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &all
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s%s", filepath.Base(name), args[0], err, tail(out.String()), tail(all.String()))
	}
	return strings.TrimSpace(out.String()), nil
}

// tail is the end of a long text.
func tail(text string) string { return text[max(0, len(text)-4000):] }
