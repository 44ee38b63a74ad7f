package storetest

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"companyos/shared/store/embedded"
)

// process is this process's use of the server. It is a variable because the process, not a test, is the client whose
// end the watchdog waits for.
var process = host{given: os.Getenv("COMPANY_TEST_DATABASE_URL")}

type host struct {
	given string // COMPANY_TEST_DATABASE_URL

	mu        sync.Mutex
	admin     string // the superuser's URL; empty before the first use and after the server was lost
	client    *os.File
	templates map[string]*template
}

func (h *host) ours() bool { return h.given == "" }

// connect connects as the superuser. A server that was killed is started again, once.
func (h *host) connect(ctx context.Context) (*pgx.Conn, error) {
	admin, err := h.server(ctx)
	if err != nil {
		return nil, err
	}
	c, err := pgx.Connect(ctx, admin)
	var answer *pgconn.PgError
	if err == nil || errors.As(err, &answer) || !h.ours() {
		return c, err
	}
	h.lost(admin)
	if admin, err = h.server(ctx); err != nil {
		return nil, err
	}
	return pgx.Connect(ctx, admin)
}

// lost forgets a server, and its templates: the last of them may not have reached the disk.
func (h *host) lost(admin string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.admin == admin {
		h.admin, h.templates = "", nil
	}
}

func (h *host) server(ctx context.Context) (string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.admin != "" {
		return h.admin, nil
	}
	admin, err := h.given, error(nil)
	if h.ours() {
		if admin, err = h.start(ctx); err != nil {
			return "", fmt.Errorf("set COMPANY_TEST_DATABASE_URL to the URL of a PostgreSQL superuser, or mend this: %w", err)
		}
	} else if u, err := url.Parse(admin); err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return "", errors.New("COMPANY_TEST_DATABASE_URL must be like postgres://user:password@host:port/postgres")
	}
	if err := ensureRole(ctx, admin); err != nil {
		if !h.ours() {
			err = fmt.Errorf("COMPANY_TEST_DATABASE_URL must be the URL of a superuser of a running PostgreSQL: %w", err)
		}
		return "", err
	}
	h.admin = admin
	return admin, nil
}

// start starts or adopts the server that all test processes of this user share, becomes one of its clients until this
// process ends, and sees that a watchdog runs.
func (h *host) start(ctx context.Context) (string, error) {
	dir, err := serverDir()
	if err != nil {
		return "", err
	}
	lock, err := embedded.Lock(ctx, filepath.Join(dir, "tests.lock"))
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if h.client == nil {
		if h.client, err = embedded.Share(ctx, filepath.Join(dir, "clients.lock")); err != nil {
			return "", err
		}
	}
	// A process that comes and goes between two looks of the watchdog has been there nevertheless.
	now := time.Now()
	if err := os.Chtimes(h.client.Name(), now, now); err != nil {
		return "", err
	}
	// First, so that a server never is without one.
	if err := ensureWatchdog(dir); err != nil {
		return "", err
	}
	s, err := embedded.Start(ctx, embedded.Config{Dir: dir, Settings: map[string]string{
		"max_connections": "300", "autovacuum": "off", "wal_level": "minimal", "max_wal_senders": "0",
		"max_wal_size": "256MB", "min_wal_size": "32MB", "checkpoint_timeout": "1d",
	}})
	if err != nil {
		return "", err
	}
	admin := s.URL("postgres", "postgres")
	if !s.Adopted {
		err = sweep(ctx, admin)
	}
	return admin, err
}

// serverDir is in memory where there is enough of it, else in the user's cache. A new database is hundreds of files; in
// memory it takes 20 ms, on a disk up to twenty times as long, as the file system likes.
func serverDir() (string, error) {
	parent, err := embedded.CacheDir()
	if err != nil {
		return "", err
	}
	name := "test-" + embedded.Version
	if memory, ok := memoryDir(); ok {
		sum := sha256.Sum256([]byte(parent)) // another home, another server
		name += fmt.Sprintf("-%x", sum[:4])
		parent = memory
	}
	dir := filepath.Join(parent, name)
	return dir, os.MkdirAll(dir, 0o700)
}

func ensureWatchdog(dir string) error {
	lock, err := embedded.TryLock(filepath.Join(dir, "watchdog.lock"))
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil // one runs
	}
	if err != nil {
		return err
	}
	defer lock.Close()
	return startWatchdog(dir, lock)
}
