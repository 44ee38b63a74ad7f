package agent

import (
	"errors"
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
	file   *truncated
	redact *redact.Writer
}

func newRunLog(path string, limit int64, by *redact.Redactor) (*runLog, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	out := &truncated{to: file, left: limit}
	return &runLog{file: out, redact: by.Writer(out)}, nil
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

// close ends the log. The reserve was freed by then, so that a full disk has room for the last line.
func (l *runLog) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return errors.Join(l.redact.Close(), l.file.close())
}

// truncated drops what goes past a limit, or did not fit on the disk, and says so once.
type truncated struct {
	to   *os.File
	left int64
	said bool
	full error
}

func (t *truncated) Write(p []byte) (int, error) {
	if t.full != nil {
		return len(p), nil //nolint:nilerr // the log is not what a run fails for
	}
	take := min(int64(len(p)), max(t.left, 0))
	_, t.full = t.to.Write(p[:take])
	t.left -= take
	if take < int64(len(p)) && !t.said && t.full == nil {
		t.said = true
		_, t.full = io.WriteString(t.to, "\n[sandbox] the log is cut here\n")
	}
	return len(p), nil
}

func (t *truncated) close() error {
	if t.full != nil {
		_, _ = fmt.Fprintf(t.to, "\n[sandbox] the log is cut here: %v\n", t.full) // what there is stands without it
	}
	return t.to.Close()
}
