package agent

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// The agent's own limits. Not every platform bounds the processes of a container.
const (
	processesMost = 2048     // processes and threads of the agent's user
	fileMost      = 16 << 30 // bytes of one file
	openMost      = 16384    // files of one process
)

// restrain limits what this process and all that it starts can take. shared: the user is the supervisor's, whose
// own processes count too.
func restrain(shared bool) error {
	limits := map[int]uint64{unix.RLIMIT_CORE: 0, unix.RLIMIT_FSIZE: fileMost, unix.RLIMIT_NOFILE: openMost}
	if !shared {
		limits[unix.RLIMIT_NPROC] = processesMost
	}
	for resource, most := range limits {
		var now unix.Rlimit
		if err := unix.Getrlimit(resource, &now); err != nil {
			return fmt.Errorf("getrlimit(%d): %w", resource, err)
		}
		now.Max = min(now.Max, most)
		now.Cur = now.Max
		if err := unix.Setrlimit(resource, &now); err != nil {
			return fmt.Errorf("setrlimit(%d): %w", resource, err)
		}
	}
	return nil
}

// freeBytes is what the disk of a folder has left for this user.
func freeBytes(dir string) (uint64, error) {
	var disk unix.Statfs_t
	if err := unix.Statfs(dir, &disk); err != nil {
		return 0, os.NewSyscallError("statfs", err)
	}
	return disk.Bavail * uint64(disk.Bsize), nil
}

// allocate makes the disk promise the room of a file.
func allocate(file *os.File, size int64) error { return unix.Fallocate(int(file.Fd()), 0, 0, size) }
