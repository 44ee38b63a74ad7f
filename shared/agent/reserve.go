package agent

import (
	"errors"
	"os"
	"path/filepath"
)

// reserveSize is how much of the disk is kept from the agent: room for the patch, the conversation and the log of an agent
// that filled it.
const reserveSize = 64 << 20

// keepReserve takes the reserve, or none where the disk has not twice as much or cannot promise room.
func (s *supervisor) keepReserve() error {
	path := s.reserve()
	if free, err := freeBytes(s.layout.private); err != nil || free < 2*reserveSize {
		return err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	kept := allocate(file, reserveSize)
	if err := file.Close(); err != nil {
		return err
	}
	if kept != nil {
		return os.Remove(path)
	}
	return nil
}

// freeReserve gives the reserve back.
func (s *supervisor) freeReserve() {
	if err := os.Remove(s.reserve()); err != nil && !errors.Is(err, os.ErrNotExist) {
		s.Log.Warn("the reserve of the disk could not be freed", "error", err)
	}
}

func (s *supervisor) reserve() string { return filepath.Join(s.layout.private, "reserve") }
