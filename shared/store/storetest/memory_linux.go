package storetest

import (
	"golang.org/x/sys/unix"

	"companyos/shared/store/embedded"
)

// enoughMemory is far above what the tests need and above what containers have by default, 64 MB.
const enoughMemory = 2 << 30

func memoryDir() (string, bool) {
	const shared = "/dev/shm"
	var fs unix.Statfs_t
	if err := unix.Statfs(shared, &fs); err != nil || fs.Type != unix.TMPFS_MAGIC || fs.Blocks*uint64(fs.Bsize) < enoughMemory {
		return "", false
	}
	dir, err := embedded.PrivateDir(shared)
	return dir, err == nil
}
