package gitcmd

import (
	"context"
	"io/fs"
	"path/filepath"
	"time"
)

// WatchSize calls over once when a fetch has brought more than most bytes into a bare repository, and returns then or
// when ctx is done. No option of git bounds a fetch.
func WatchSize(ctx context.Context, dir string, most int64, over func()) {
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if size(filepath.Join(dir, "objects")) > most {
			over()
			return
		}
	}
}

// size adds up the files below a folder, as far as they can be seen.
func size(dir string) int64 {
	var sum int64
	_ = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			if info, err := entry.Info(); err == nil {
				sum += info.Size()
			}
		}
		return nil
	})
	return sum
}
