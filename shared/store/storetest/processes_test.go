package storetest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"companyos/shared/store/embedded"
)

// cacheFlag makes TestClient a client of the server that belongs to that cache directory.
const cacheFlag = "STORETEST_CLIENT"

// TestClient is what a test of another package does. By itself it uses the server of all; TestProcesses runs it in
// processes of their own with a server of their own.
func TestClient(t *testing.T) {
	t.Parallel()
	if os.Getenv(cacheFlag) == "where" {
		dir, err := serverDir()
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(os.Getenv("HOME"), "where"), []byte(dir), 0o600))
		return
	}
	url := New(t, migrateOne, "one")
	require.Equal(t, "1", value(t, url, "select n::text from one"))
	if os.Getenv(cacheFlag) == "kill server" {
		dir, err := serverDir()
		require.NoError(t, err)
		s, err := embedded.Attach(t.Context(), dir)
		require.NoError(t, err)
		require.NoError(t, syscall.Kill(s.Pid, syscall.SIGKILL))
		url = New(t, migrateOne, "one")
		require.Equal(t, "1", value(t, url, "select n::text from one"))
	}
	if os.Getenv(cacheFlag) == "die" {
		require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGKILL))
	}
}

// One server for processes at once; one killed client, server or watchdog does not hurt the next; and five seconds
// after the last client nothing is left.
func TestProcesses(t *testing.T) {
	t.Parallel()
	p := newPrivate(t)
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() { p.client(t, "") })
	}
	wg.Wait()
	s := p.server(t)
	require.NoError(t, p.client(t, "kill server"))
	require.NotEqual(t, s.Pid, p.server(t).Pid)

	require.Error(t, p.client(t, "die"))
	watchdog := p.watchdog(t)
	require.NoError(t, syscall.Kill(watchdog, syscall.SIGKILL))
	for p.held(t, "watchdog.lock") { // it ends when it next gets a processor
		time.Sleep(time.Millisecond)
	}
	s = p.server(t)
	require.NoError(t, p.client(t, ""))
	require.Equal(t, s.Pid, p.server(t).Pid, "the server waits for its clients")
	require.NotEqual(t, watchdog, p.watchdog(t))

	last := time.Now()
	for p.busy(t) {
		require.Less(t, time.Since(last), idle+5*time.Second, "something is left")
		time.Sleep(50 * time.Millisecond)
	}
	require.Greater(t, time.Since(last), idle-time.Second)
	require.NoFileExists(t, filepath.Join(p.dir, "watchdog.log"))
}

// private is a server that no other process of this user knows.
type private struct {
	home string
	env  []string
	dir  string
}

func newPrivate(t *testing.T) private {
	t.Helper()
	New(t, migrateOne, "one") // so that the programs are there
	cache, err := embedded.CacheDir()
	require.NoError(t, err)
	home := t.TempDir()
	p := private{home: home, env: []string{"HOME=" + home, "XDG_CACHE_HOME=" + filepath.Join(home, "Library", "Caches")}}
	mine := filepath.Join(home, "Library", "Caches", filepath.Base(cache))
	require.NoError(t, os.MkdirAll(mine, 0o700))
	servers, err := filepath.Glob(filepath.Join(cache, "server-*"))
	require.NoError(t, err)
	for _, s := range servers {
		require.NoError(t, os.Symlink(s, filepath.Join(mine, filepath.Base(s))))
	}
	p.dir = p.whereServerIs(t)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(p.dir)) }) // it may be in memory
	return p
}

func (p private) whereServerIs(t *testing.T) string {
	t.Helper()
	require.NoError(t, p.client(t, "where"))
	dir, err := os.ReadFile(filepath.Join(p.home, "where"))
	require.NoError(t, err)
	return string(dir)
}

func (p private) client(t *testing.T, what string) error {
	c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestClient$")
	c.Env = append(os.Environ(), append(p.env, cacheFlag+"="+what, "COMPANY_TEST_DATABASE_URL=")...)
	out, err := c.CombinedOutput()
	if err != nil && what != "die" {
		t.Errorf("client %q: %v\n%s", what, err, out)
	}
	return err
}

func (p private) server(t *testing.T) *embedded.Server {
	t.Helper()
	s, err := embedded.Attach(t.Context(), p.dir)
	require.NoError(t, err)
	return s
}

// busy tells whether a watchdog or a server is there, by the locks that they hold.
func (p private) busy(t *testing.T) bool {
	t.Helper()
	return p.held(t, "watchdog.lock") || p.held(t, "server.lock")
}

func (p private) held(t *testing.T, name string) bool {
	t.Helper()
	lock, err := embedded.TryLock(filepath.Join(p.dir, name))
	if err != nil {
		require.ErrorIs(t, err, syscall.EWOULDBLOCK)
		return true
	}
	require.NoError(t, lock.Close())
	return false
}

func (p private) watchdog(t *testing.T) int {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(p.dir, "watchdog.lock"))
	require.NoError(t, err)
	var pid int
	require.NoError(t, json.Unmarshal(b, &pid))
	return pid
}
