// Package embedded runs a PostgreSQL of its own for one folder. It fetches the server's programs once per user, makes
// the data directory, starts the server or adopts the one that already runs there, and stops it.
//
// A folder holds data/ (the data directory), password (the superuser's), server.log, for throw-away data boot-id, and two
// locks. server.lock is
// held by the server and all its processes for as long as one of them lives: a lock tells the truth across zombies,
// reused process ids, reboots and containers, which a process id in a file does not. start.lock is held by whoever
// starts or stops the server.
package embedded

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// ErrNotRunning says that no server runs in the folder.
var ErrNotRunning = errors.New("no PostgreSQL runs here")

const (
	superuser = "postgres"
	// patience bounds each wait for a server: to answer, to recover after a crash, to end.
	patience = 2 * time.Minute
	poll     = 10 * time.Millisecond
	watch    = 500 * time.Millisecond
)

// Config says which server to start.
type Config struct {
	// Dir is the server's folder. It is made when missing.
	Dir string
	// Port is where it listens if it can be had, any free port for 0. It has no effect on a server that already runs.
	Port int
	// Settings are server settings by name. They have no effect on a server that already runs.
	Settings map[string]string
	// Durable data survives the machine. Data that is not durable survives the server, but for the last commits before
	// a kill -9, and is thrown away once the machine was restarted; in return nothing waits for the disk.
	Durable bool
}

// Server is a running PostgreSQL, which listens on 127.0.0.1 alone.
type Server struct {
	// Adopted tells that the server ran already.
	Adopted bool
	Port    int
	Pid     int

	dir      string
	password string
	bin      string
	as       identity
	ended    chan struct{} // closed when a server started by this process is gone; nil for an adopted one
}

// Start starts the server of a folder or adopts the one that runs there. Any number of processes may call it at once.
// The first start of a user downloads the server's programs. The server outlives this process: only Stop ends it.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	return start(ctx, cfg, identities)
}

func start(ctx context.Context, cfg Config, identities func(data string) ([]identity, error)) (s *Server, err error) {
	defer wrap(&err, "start PostgreSQL in %s", cfg.Dir)
	dir, err := makeFolder(cfg.Dir)
	if err != nil {
		return nil, err
	}
	lock, err := Lock(ctx, filepath.Join(dir, "start.lock"))
	if err != nil {
		return nil, unwritable(dir, err)
	}
	defer lock.Close()

	s = &Server{dir: dir}
	if s.password, err = ensurePassword(dir); err != nil {
		return nil, err
	}
	if s.Adopted, err = s.adopt(ctx); err != nil {
		return nil, err
	}
	if s.Adopted {
		return s, nil
	}
	if s.bin, err = binaries(ctx); err != nil {
		return nil, err
	}
	if err := s.checkDurability(cfg.Durable); err != nil {
		return nil, err
	}
	made, err := s.hasData()
	if err != nil {
		return nil, err
	}
	if err := s.chooseIdentity(ctx, identities); err != nil {
		return nil, err
	}
	if !made {
		if err := s.initdb(ctx, cfg.Durable); err != nil {
			return nil, err
		}
	}
	if err := s.launch(ctx, cfg); err != nil {
		return nil, err
	}
	return s, nil
}

// Attach returns the server that runs in a folder and starts none: ErrNotRunning.
func Attach(ctx context.Context, dir string) (s *Server, err error) {
	defer wrap(&err, "attach to PostgreSQL in %s", dir)
	dir, err = realPath(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotRunning
	} else if err != nil {
		return nil, err
	}
	b, err := os.ReadFile(filepath.Join(dir, "password"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotRunning
	} else if err != nil {
		return nil, err
	}
	s = &Server{dir: dir, password: string(b)}
	if s.Adopted, err = s.adopt(ctx); err != nil {
		return nil, err
	}
	if !s.Adopted {
		return nil, ErrNotRunning
	}
	return s, nil
}

// URL is the address of a database for a user whose password is the server's, as the superuser "postgres" has it.
func (s *Server) URL(user, db string) string {
	u := url.URL{
		Scheme:   "postgres",
		User:     url.UserPassword(user, s.password),
		Host:     net.JoinHostPort("127.0.0.1", strconv.Itoa(s.Port)),
		Path:     "/" + db,
		RawQuery: "sslmode=disable",
	}
	return u.String()
}

// Ended waits until no process of the server is left, whoever started it, and returns the context's error when that comes
// first.
func (s *Server) Ended(ctx context.Context) error {
	for {
		if alive, err := s.alive(); err == nil && !alive {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(watch):
		}
	}
}

// Stop ends the server, whoever started it, breaking its connections off, and returns when all its processes are gone.
// A server that is gone already is no error.
func (s *Server) Stop(ctx context.Context) (err error) {
	defer wrap(&err, "stop PostgreSQL in %s", s.dir)
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	lock, err := Lock(ctx, filepath.Join(s.dir, "start.lock"))
	if err != nil {
		return err
	}
	defer lock.Close()

	for signalled := false; ; {
		alive, err := s.alive()
		if err != nil {
			return err
		}
		if !alive {
			break
		}
		p, found := readPidFile(s.data())
		if found && p.pid != s.Pid {
			return nil // ours is gone, and somebody started the next one
		}
		if found && !signalled {
			if err := syscall.Kill(s.Pid, syscall.SIGINT); err != nil && !errors.Is(err, syscall.ESRCH) {
				return fmt.Errorf("end process %d by hand, this user may not: %w", s.Pid, err)
			}
			signalled = true
		}
		if err := sleep(ctx); err != nil {
			return fmt.Errorf("process %d does not end, look at %s: %w", s.Pid, s.log(), err)
		}
	}
	if s.ended != nil {
		<-s.ended
	}
	return nil
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }
func (s *Server) log() string  { return filepath.Join(s.dir, "server.log") }

func makeFolder(dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", unwritable(dir, err)
	}
	return realPath(dir)
}

// realPath is absolute and without links, as the server itself reports its data directory.
func realPath(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(dir)
}

func unwritable(dir string, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err // a lock was not waited for any longer
	}
	return fmt.Errorf("make the data directory %s writable for this user, or choose another one: %w", dir, err)
}

func wrap(err *error, format string, args ...any) {
	if *err != nil {
		*err = fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), *err)
	}
}

// sleep waits until it is worth another look.
func sleep(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(poll):
		return nil
	}
}

// pidFile is what the server writes into postmaster.pid.
type pidFile struct {
	pid, port int
	ready     bool
}

func readPidFile(data string) (pidFile, bool) {
	b, err := os.ReadFile(filepath.Join(data, "postmaster.pid"))
	if err != nil {
		return pidFile{}, false
	}
	// Lines: pid, data directory, start time, port, socket directory, listen address, shared memory key, status.
	lines := strings.Split(string(b), "\n")
	if len(lines) < 8 {
		return pidFile{}, false // still being written
	}
	pid, err1 := strconv.Atoi(strings.TrimSpace(lines[0]))
	port, err2 := strconv.Atoi(strings.TrimSpace(lines[3]))
	if err1 != nil || err2 != nil || pid <= 0 {
		return pidFile{}, false
	}
	return pidFile{pid: pid, port: port, ready: strings.TrimSpace(lines[7]) == "ready"}, true
}
