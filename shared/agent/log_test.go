package agent

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"companyos/shared/agent/redact"
)

// TestLogOfAFullDisk: a log that finds no room fails nobody who writes to it, and what is there stands.
func TestLogOfAFullDisk(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log")
	log, err := newRunLog(path, 1<<20, redact.New("canary"))
	if err != nil {
		t.Fatal(err)
	}
	log.note("before")
	log.file.full = syscall.ENOSPC // as the first write that fails leaves it
	log.note("after")
	if err := log.close(); err != nil {
		t.Error(err)
	}
	text, err := os.ReadFile(path)
	if err != nil || !strings.HasPrefix(string(text), "[sandbox] before\n") || strings.Contains(string(text), "after") || !strings.HasSuffix(string(text), "the log is cut here: no space left on device\n") {
		t.Errorf("log %q, %v", text, err)
	}

	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		return // this system has none
	}
	out := &truncated{to: full, left: 1 << 20}
	for range 3 {
		if n, err := out.Write([]byte("text")); n != 4 || err != nil {
			t.Errorf("write: %d, %v", n, err)
		}
	}
	if err := out.close(); err != nil || out.full == nil {
		t.Errorf("close: %v, full: %v", err, out.full)
	}
}
