//go:build !linux

package agent

import (
	"errors"
	"os"
)

// restrain has nothing to do where only the fixture runs.
func restrain(bool) error { return nil }

// freeBytes and allocate keep no reserve there.
func freeBytes(string) (uint64, error) { return 0, nil }

func allocate(*os.File, int64) error { return errors.ErrUnsupported }
