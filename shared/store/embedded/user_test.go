package embedded

import (
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// As root a child runs as nobody, with a home that nobody else may enter; else as this user.
func TestOrdinaryUser(t *testing.T) {
	t.Parallel()
	uid, home, exe := ordinaryUser(t)
	r := runChild(t, exe, uid, "life", filepath.Join(home, "pg"), homeOf(home)...)
	require.Empty(t, r.Err)
	require.Equal(t, []string{"started", "recovered 7 adopted false", "adopted true same true", "alive false"}, r.Seen)

	locked := filepath.Join(home, "locked")
	require.NoError(t, os.Mkdir(locked, 0o555))
	r = runChild(t, exe, uid, "start", filepath.Join(locked, "pg"), homeOf(home)...)
	oneSentence(t, r.Err, "make the data directory "+locked+"/pg writable for this user, or choose another one")

	empty := filepath.Join(home, "empty")
	require.NoError(t, os.Mkdir(empty, 0o777))
	require.NoError(t, os.Chmod(empty, 0o777))
	noNetwork := append(homeOf(empty), "TMPDIR="+empty, "HTTPS_PROXY=http://127.0.0.1:1", "https_proxy=http://127.0.0.1:1", "NO_PROXY=", "no_proxy=")
	r = runChild(t, exe, uid, "start", filepath.Join(empty, "pg"), noNetwork...)
	oneSentence(t, r.Err, "cannot be downloaded, connect to the network for the first start or set COMPANY_DATABASE_URL")
	left, err := filepath.Glob(filepath.Join(empty, "*", "company-postgres", "install-*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// ordinaryUser returns a user that is not root, a home of its own that has the server's programs in its cache, and a
// copy of this binary that it can run.
func ordinaryUser(t *testing.T) (uid int, home, exe string) {
	t.Helper()
	bin, err := binaries(t.Context())
	require.NoError(t, err)
	base, err := os.MkdirTemp("", "embedded-") // t.TempDir is under one that only its owner may enter
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(base)) })
	require.NoError(t, os.Chmod(base, 0o755))
	home, exe, uid = filepath.Join(base, "home"), filepath.Join(base, "test"), -1
	copyFile(t, os.Args[0], exe)
	cached := filepath.Join(home, "cache", "company-postgres", filepath.Base(bin))
	require.NoError(t, os.MkdirAll(filepath.Dir(cached), 0o700))
	if os.Geteuid() != 0 {
		require.NoError(t, os.Symlink(bin, cached))
	} else {
		uid = 65534
		require.NoError(t, os.CopyFS(cached, os.DirFS(bin)))
		require.NoError(t, os.Chmod(home, 0o700))
		require.NoError(t, filepath.WalkDir(home, func(path string, _ os.DirEntry, err error) error {
			if err != nil {
				return err
			}
			return os.Lchown(path, uid, uid)
		}))
	}
	return uid, home, exe
}

// homeOf makes CacheDir the home's, on Linux and elsewhere.
func homeOf(home string) []string {
	if runtime.GOOS == "linux" {
		return []string{"HOME=" + home, "XDG_CACHE_HOME=" + filepath.Join(home, "cache")}
	}
	return []string{"HOME=" + home}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	require.NoError(t, err)
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	require.NoError(t, err)
	_, err = io.Copy(out, in)
	require.NoError(t, err)
	require.NoError(t, out.Close())
}
