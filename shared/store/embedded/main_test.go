package embedded

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// childFlag makes this binary one process of several in a test: it runs the named part and prints what it saw.
const childFlag = "EMBEDDED_TEST_CHILD"

func TestMain(m *testing.M) {
	if name := os.Getenv(childFlag); name != "" {
		r := children[name](context.Background(), os.Getenv("EMBEDDED_TEST_DIR"))
		if err := json.NewEncoder(os.Stdout).Encode(r); err != nil {
			panic(err)
		}
		return
	}
	os.Exit(m.Run())
}

type report struct {
	Pid     int
	Adopted bool
	Seen    []string
	Err     string
}

var children = map[string]func(ctx context.Context, dir string) report{
	"start": childStart,
	"life":  childLife,
}

// childStart starts a server and leaves it.
func childStart(ctx context.Context, dir string) report {
	s, err := Start(ctx, Config{Dir: dir})
	if err != nil {
		return report{Err: err.Error()}
	}
	return report{Pid: s.Pid, Adopted: s.Adopted}
}

// childLife starts, fills, kills, recovers, adopts and stops a server.
func childLife(ctx context.Context, dir string) (r report) {
	fail := func(err error) report { r.Err = err.Error(); return r }
	s, err := Start(ctx, Config{Dir: dir, Durable: true})
	if err != nil {
		return fail(err)
	}
	if _, err := query(ctx, s, "create table kept as select 7"); err != nil {
		return fail(err)
	}
	r.Seen = append(r.Seen, "started")
	if err := syscall.Kill(s.Pid, syscall.SIGKILL); err != nil {
		return fail(err)
	}
	s, err = Start(ctx, Config{Dir: dir, Durable: true})
	if err != nil {
		return fail(err)
	}
	kept, err := query(ctx, s, "table kept")
	if err != nil {
		return fail(err)
	}
	r.Seen = append(r.Seen, fmt.Sprintf("recovered %s adopted %v", kept, s.Adopted))
	again, err := Start(ctx, Config{Dir: dir, Durable: true})
	if err != nil {
		return fail(err)
	}
	r.Seen = append(r.Seen, fmt.Sprintf("adopted %v same %v", again.Adopted, again.Pid == s.Pid))
	if err := again.Stop(ctx); err != nil {
		return fail(err)
	}
	alive, err := s.alive()
	if err != nil {
		return fail(err)
	}
	r.Seen = append(r.Seen, fmt.Sprintf("alive %v", alive))
	return r
}

// runChild runs a part in a process of its own, as the given uid if that is not negative.
func runChild(t *testing.T, exe string, uid int, name, dir string, env ...string) report {
	t.Helper()
	c := exec.CommandContext(t.Context(), exe)
	c.Dir = "/"
	c.Env = append(os.Environ(), append(env, childFlag+"="+name, "EMBEDDED_TEST_DIR="+dir)...)
	if uid >= 0 {
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
	}
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	require.NoError(t, err, "%s", stderr.String())
	var r report
	require.NoError(t, json.Unmarshal(out, &r), "%s", out)
	return r
}

// query returns a result with one column as words.
func query(ctx context.Context, s *Server, sql string) (string, error) {
	c, err := pgx.Connect(ctx, s.URL("postgres", "postgres"))
	if err != nil {
		return "", err
	}
	defer c.Close(ctx)
	rows, err := c.Query(ctx, sql, pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		return "", err
	}
	values, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return strings.Join(values, " "), err
}

func mustQuery(t *testing.T, s *Server, sql string) string {
	t.Helper()
	v, err := query(t.Context(), s, sql)
	require.NoError(t, err)
	return v
}

// folder is a new folder whose server, whoever started it, ends with the test.
func folder(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "pg")
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		if s, err := Attach(ctx, dir); err == nil {
			require.NoError(t, s.Stop(ctx))
		}
	})
	return dir
}

func mustStart(t *testing.T, cfg Config) *Server {
	t.Helper()
	s, err := Start(t.Context(), cfg)
	require.NoError(t, err)
	return s
}
