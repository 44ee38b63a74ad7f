package process

import (
	"context"
	"errors"
	"os"
	"time"
)

// Prune forgets the launches that stopped before a time: their records, logs and what is left of their files.
func (l *Launcher) Prune(ctx context.Context, before time.Time) error {
	entries, err := os.ReadDir(l.launches)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		handle := entry.Name()
		if !isHandle(handle) || l.touched(handle).After(before) {
			continue
		}
		status, err := l.Describe(ctx, handle)
		if err != nil {
			return err
		}
		if !status.State.Stopped() || status.StoppedAt.After(before) {
			continue
		}
		if err := l.forget(handle); err != nil {
			return err
		}
	}
	return nil
}

// touched is when a launch's record or its log was last written.
func (l *Launcher) touched(handle string) (last time.Time) {
	for _, path := range []string{l.path(handle), l.path(handle) + ".log"} {
		if info, err := os.Stat(path); err == nil && info.ModTime().After(last) {
			last = info.ModTime()
		}
	}
	return last
}

// forget removes a launch's files; its record goes last, so that one that was cut off is found again.
func (l *Launcher) forget(handle string) error {
	path := l.path(handle)
	rec, _, err := readRecord(path)
	if err != nil {
		return err
	}
	if rec.Dir != "" {
		err = os.RemoveAll(rec.Dir)
	}
	for _, file := range []string{path + ".log", path + ".stop"} {
		err = errors.Join(err, os.RemoveAll(file))
	}
	if err != nil {
		return err
	}
	return os.Remove(path)
}
