package embedded

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
)

const portTries = 5

var errPortTaken = errors.New("port taken")

// launch starts the server at a free port. A port is free only until somebody takes it, hence the tries.
func (s *Server) launch(ctx context.Context, cfg Config) error {
	// The lock is free and start.lock is ours, so whatever process has that id now is not this folder's server.
	if err := os.Remove(filepath.Join(s.data(), "postmaster.pid")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return unwritable(s.data(), err)
	}
	// The log of the server before this one often tells why there is a this one.
	if err := os.Rename(s.log(), s.log()+".1"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return unwritable(s.dir, err)
	}
	for try := range portTries {
		port, err := cfg.Port, error(nil)
		if port == 0 || try > 0 {
			port, err = freePort()
		}
		if err != nil {
			return fmt.Errorf("no port of 127.0.0.1 can be had, free one or allow this user to listen: %w", err)
		}
		s.Port = port
		if err = s.exec(ctx, cfg); !errors.Is(err, errPortTaken) {
			return err
		}
	}
	return fmt.Errorf("%d free ports of 127.0.0.1 were taken by others meanwhile, start again", portTries)
}

func freePort() (int, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// exec runs postgres itself, without pg_ctl, in a session of its own so that no terminal's signal ends it.
func (s *Server) exec(ctx context.Context, cfg Config) error {
	log, err := os.OpenFile(s.log(), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return unwritable(s.dir, err)
	}
	defer log.Close()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	alive, err := Lock(ctx, filepath.Join(s.dir, "server.lock"))
	if err != nil {
		return unwritable(s.dir, err)
	}
	defer alive.Close() // the server's copy keeps the lock

	c := s.command("postgres", append([]string{"-D", s.data(), "-p", strconv.Itoa(s.Port)}, settings(cfg)...)...)
	c.Stdout, c.Stderr = log, log
	c.ExtraFiles = []*os.File{alive}
	if err := s.as.start(c); err != nil {
		return err
	}
	s.Pid, s.ended = c.Process.Pid, make(chan struct{})
	go func() {
		defer close(s.ended)
		_ = c.Wait() // how it ended is in its log
	}()
	if err := s.awaitReady(ctx); err != nil {
		// SIGQUIT: end at once and recover at the next start.
		_ = c.Process.Signal(syscall.SIGQUIT)
		<-s.ended
		return err
	}
	return nil
}

func (s *Server) awaitReady(ctx context.Context) error {
	for {
		if p, found := readPidFile(s.data()); found && p.pid == s.Pid && p.ready {
			return s.login(ctx)
		}
		select {
		case <-s.ended:
			return s.whyEnded()
		default:
		}
		if err := sleep(ctx); err != nil {
			return fmt.Errorf("the server is not ready in time, look at %s: %w", s.log(), err)
		}
	}
}

func (s *Server) whyEnded() error {
	out, err := os.ReadFile(s.log())
	if err != nil {
		return err
	}
	if bytes.Contains(out, []byte("Address already in use")) {
		return errPortTaken
	}
	return fmt.Errorf("the server ended at once, its last words: %s", tail(out))
}

// settings are the arguments of postgres, ours first: a later one wins.
func settings(cfg Config) []string {
	// No socket: its path is limited to about 100 bytes. io_method sync: three processes fewer.
	set := []string{"listen_addresses=127.0.0.1", "unix_socket_directories=", "shared_buffers=64MB", "io_method=sync"}
	if !cfg.Durable {
		set = append(set, "fsync=off", "synchronous_commit=off", "full_page_writes=off")
	}
	var own []string
	for name, value := range cfg.Settings {
		own = append(own, name+"="+value)
	}
	slices.Sort(own)
	var args []string
	for _, a := range append(set, own...) {
		args = append(args, "-c", a)
	}
	return args
}

// command is a program of the server with an environment that holds nothing of ours. It runs in the folder, so that
// an identity that cannot reach it fails at its first program.
func (s *Server) command(name string, args ...string) *exec.Cmd {
	c := exec.Command(filepath.Join(s.bin, "bin", name), args...) //nolint:noctx // the server outlives its start; run ends the others
	c.Dir = s.dir
	c.Env = []string{"PATH=/usr/bin:/bin", "LC_ALL=C", "TZ=UTC"} // C: errPortTaken is found by its text
	return c
}

// run runs a program of the server to its end.
func (s *Server) run(ctx context.Context, name string, args ...string) error {
	var out bytes.Buffer
	c := s.command(name, args...)
	c.Stdout, c.Stderr = &out, &out
	if err := s.as.start(c); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = c.Process.Kill() })
	defer stop()
	err := c.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, tail(out.Bytes()))
	}
	return nil
}

// tail is the end of an output as one line.
func tail(out []byte) string {
	out = bytes.TrimSpace(out)
	out = out[max(0, len(out)-1000):]
	return string(bytes.ReplaceAll(out, []byte("\n"), []byte(" | ")))
}
