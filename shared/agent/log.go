package agent

import (
	"fmt"
	"io"
	"os"
	"sync"

	"companyos/shared/agent/redact"
)

// runLog is what a person reads to understand a run: what the harness printed beside its events. It is on disk, redacted
// and bounded; past its limit it ends with a marker.
type runLog struct {
	mu     sync.Mutex
	file   *os.File
	redact *redact.Writer
}

func newRunLog(path string, limit int64, by *redact.Redactor) (*runLog, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	return &runLog{file: file, redact: by.Writer(&truncated{to: file, left: limit})}, nil
}

// Write takes a piece of the harness's output.
func (l *runLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.redact.Write(p)
}

// note adds a line of the supervisor's.
func (l *runLog) note(format string, a ...any) {
	fmt.Fprintf(l, "[sandbox] "+format+"\n", a...)
}

func (l *runLog) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.redact.Close(); err != nil {
		return err
	}
	return l.file.Close()
}

// truncated drops what goes past a limit and says so once.
type truncated struct {
	to   io.Writer
	left int64
	said bool
}

func (t *truncated) Write(p []byte) (int, error) {
	take := min(int64(len(p)), max(t.left, 0))
	if take > 0 {
		if _, err := t.to.Write(p[:take]); err != nil {
			return 0, err
		}
		t.left -= take
	}
	if take < int64(len(p)) && !t.said {
		t.said = true
		if _, err := io.WriteString(t.to, "\n[sandbox] the log is cut here\n"); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}
