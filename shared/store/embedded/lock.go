package embedded

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

// Lock waits for the exclusive flock of a file, which it makes when missing. Closing the file gives the lock back, and
// so does the end of the last process that has it open.
func Lock(ctx context.Context, path string) (*os.File, error) {
	return await(ctx, path, syscall.LOCK_EX)
}

// Share waits for the shared flock of a file likewise.
func Share(ctx context.Context, path string) (*os.File, error) {
	return await(ctx, path, syscall.LOCK_SH)
}

// TryLock takes the exclusive flock of a file if it is free; else the error is syscall.EWOULDBLOCK.
func TryLock(path string) (*os.File, error) { return tryLock(path, syscall.LOCK_EX) }

func await(ctx context.Context, path string, how int) (*os.File, error) {
	for {
		f, err := tryLock(path, how)
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return f, err
		}
		if err := sleep(ctx); err != nil {
			return nil, err
		}
	}
}

func tryLock(path string, how int) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// alive tells whether a process of the server lives. The question is a shared lock, so that those who ask at the same
// time do not take each other for the server.
func (s *Server) alive() (bool, error) {
	f, err := tryLock(filepath.Join(s.dir, "server.lock"), syscall.LOCK_SH)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return true, nil
	}
	if err != nil {
		return false, unwritable(s.dir, err)
	}
	return false, f.Close()
}
