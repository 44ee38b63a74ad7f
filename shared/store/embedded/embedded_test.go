package embedded

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Every way to run the server that works here (as root mostly two, under a folder that only root may enter), and what
// the others say.
func TestStartAdoptStop(t *testing.T) {
	t.Parallel()
	ways, err := identities(t.TempDir())
	require.NoError(t, err)
	var works atomic.Int32
	t.Run("as", func(t *testing.T) {
		for _, way := range ways {
			t.Run(string(way.kind), func(t *testing.T) {
				t.Parallel()
				dir := folder(t)
				require.NoError(t, os.Chmod(filepath.Dir(dir), 0o700))
				cfg := Config{Dir: dir, Settings: map[string]string{"work_mem": "5MB"}}
				s, err := start(t.Context(), cfg, func(string) ([]identity, error) { return []identity{way}, nil })
				if err != nil {
					oneSentence(t, err.Error(), "root cannot drop its privileges here, use a non-root user or COMPANY_DATABASE_URL")
					return
				}
				works.Add(1)
				require.False(t, s.Adopted)
				mustQuery(t, s, "create table kept as select 'yes'")
				require.Equal(t, "5MB", mustQuery(t, s, "show work_mem"))
				require.Equal(t, "127.0.0.1", mustQuery(t, s, "show listen_addresses"))

				adopted := mustStart(t, cfg)
				require.True(t, adopted.Adopted)
				require.Equal(t, s.Pid, adopted.Pid)
				require.Equal(t, s.URL("postgres", "postgres"), adopted.URL("postgres", "postgres"))

				require.NoError(t, adopted.Stop(t.Context()))
				require.NoError(t, s.Stop(t.Context()), "stopping what is gone")
				require.ErrorIs(t, syscall.Kill(s.Pid, 0), syscall.ESRCH)
				_, err = Attach(t.Context(), dir)
				require.ErrorIs(t, err, ErrNotRunning)

				again := mustStart(t, cfg)
				require.False(t, again.Adopted)
				require.Equal(t, "yes", mustQuery(t, again, "table kept"))
				require.Equal(t, way.kind, again.as.kind, "the owner of the data decides")
				require.NoError(t, s.Stop(t.Context()), "the server after ours is not ours to stop")
				require.Equal(t, "yes", mustQuery(t, again, "table kept"))
			})
		}
	})
	require.Positive(t, works.Load(), "no way works")
}

func TestStartAfterKill(t *testing.T) {
	t.Parallel()
	// What was committed must have left the server's own memory.
	cfg := Config{Dir: folder(t), Settings: map[string]string{"synchronous_commit": "on"}}
	s := mustStart(t, cfg)
	mustQuery(t, s, "create table kept as select 'yes'")
	require.NoError(t, syscall.Kill(s.Pid, syscall.SIGKILL))

	again := mustStart(t, cfg)
	require.False(t, again.Adopted)
	require.Equal(t, "yes", mustQuery(t, again, "table kept"))
	require.NoError(t, again.Stop(t.Context()))

	// A pid file that names a process that lives and is no server, as after a restart of the machine.
	pidFile := fmt.Sprintf("%d\n%s\n1\n%d\n\n127.0.0.1\n\nready\n", os.Getpid(), again.data(), again.Port)
	require.NoError(t, os.WriteFile(filepath.Join(again.data(), "postmaster.pid"), []byte(pidFile), 0o600))
	again = mustStart(t, cfg)
	require.False(t, again.Adopted)
	require.NotEqual(t, os.Getpid(), again.Pid)
	require.Equal(t, "yes", mustQuery(t, again, "table kept"))
	require.NoError(t, again.Stop(t.Context()))

	// A port that somebody took between the choice and the start.
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	again.Port = l.Addr().(*net.TCPAddr).Port
	require.ErrorIs(t, again.exec(t.Context(), cfg), errPortTaken)
}

func TestStartFromProcessesAtOnce(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	_, err := Attach(t.Context(), dir)
	require.ErrorIs(t, err, ErrNotRunning)
	var reports [3]report
	var wg sync.WaitGroup
	for i := range reports {
		wg.Go(func() { reports[i] = runChild(t, os.Args[0], -1, "start", dir) })
	}
	wg.Wait()
	started := 0
	for _, r := range reports {
		require.Empty(t, r.Err)
		require.Equal(t, reports[0].Pid, r.Pid)
		if !r.Adopted {
			started++
		}
	}
	require.Equal(t, 1, started)
	s, err := Attach(t.Context(), dir)
	require.NoError(t, err, "the server outlives who started it")
	require.Equal(t, reports[0].Pid, s.Pid)
}

// A start that is broken off does not harm the next one.
func TestStartBrokenOff(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	_, err := binaries(t.Context())
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond) // in the middle of initdb
	defer cancel()
	_, err = Start(ctx, Config{Dir: dir})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	killed := filepath.Join(dir, "init-killed", "data")
	require.NoError(t, os.MkdirAll(killed, 0o700))
	s := mustStart(t, Config{Dir: dir})
	require.Equal(t, "1", mustQuery(t, s, "select '1'"))
	left, err := filepath.Glob(filepath.Join(dir, "init-*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestDataOfEarlierBoot(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	torn := filepath.Join(dir, "data", "PG_VERSION")
	require.NoError(t, os.MkdirAll(filepath.Dir(torn), 0o700))
	for path, text := range map[string]string{torn: "18\n", filepath.Join(dir, "password"): "x", filepath.Join(dir, "boot-id"): "an earlier one"} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	s := mustStart(t, Config{Dir: dir})
	mustQuery(t, s, "create table kept as select 'yes'")
	require.NoError(t, s.Stop(t.Context()))
	s = mustStart(t, Config{Dir: dir})
	require.Equal(t, "yes", mustQuery(t, s, "table kept"))
}
