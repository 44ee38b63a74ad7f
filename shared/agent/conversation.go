package agent

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"companyos/shared/task"
)

// conversation is how a harness keeps what was said: one file of JSON lines below the agent's home. Only this file outlives
// a sandbox; it is put back by name.
type conversation struct {
	dir     string                                 // below the home, where its file is
	pattern string                                 // of the file's name
	place   func(id string) string                 // below the home, where it is put back
	id      func(line []byte) string               // the session that a line names, empty for none
	said    func(line []byte) (who, text string)   // what a line says, for people; nil: nothing
	failed  func(line []byte) (task.EndKind, bool) // why a turn failed, where only the file tells it; nil: never
}

// historyMost bounds what a fresh session is told of one that cannot go on: its end counts.
const historyMost = 48 << 10

// restored is a conversation that is fit to be put back.
type restored struct {
	id      string
	content []byte
	torn    bool   // its last line was not whole and is left out
	history string // what was said, as text
}

var errNoConversation = errors.New("it names no session")

// read takes a conversation's file apart. A last line that is not whole is left out.
func (c conversation) read(content []byte) (restored, error) {
	r := restored{content: content}
	if end := bytes.LastIndexByte(content, '\n') + 1; end < len(content) {
		r.content, r.torn = content[:end], true
	}
	var said strings.Builder
	for line := range bytes.Lines(r.content) {
		if r.id == "" {
			r.id = c.id(line)
		}
		if c.said == nil {
			continue
		}
		if who, text := c.said(line); text != "" {
			fmt.Fprintf(&said, "%s: %s\n\n", who, cut(text, 8<<10))
		}
	}
	r.history = said.String()
	if extra := len(r.history) - historyMost; extra > 0 {
		r.history = "[cut] " + strings.ToValidUTF8(r.history[extra:], "")
	}
	if r.id == "" {
		return r, errNoConversation
	}
	return r, nil
}

// kind is why the last turn of a conversation failed, where only the file tells it.
func (c conversation) kind(from io.Reader) (kind task.EndKind, known bool) {
	if c.failed == nil {
		return "", false
	}
	_ = eachLine(from, func(line []byte) {
		if k, ok := c.failed(line); ok {
			kind, known = k, k != ""
		}
	})
	return kind, known
}

// printNewest prints the newest file of a pattern below a folder. It runs as the agent's user: a link or a pipe in the
// file's place opens nothing, and nothing is waited for. The exit code is 1 when there is no such file.
func printNewest(dir, pattern string, to io.Writer) int {
	var newest string
	var at time.Time
	_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error { //nolint:gosec // the supervisor names the folder
		if err != nil || !entry.Type().IsRegular() {
			return nil //nolint:nilerr // what cannot be read is not there
		}
		if ok, _ := filepath.Match(pattern, entry.Name()); !ok {
			return nil
		}
		if info, err := entry.Info(); err == nil && (newest == "" || info.ModTime().After(at)) {
			newest, at = path, info.ModTime()
		}
		return nil
	})
	if newest == "" {
		return 1
	}
	file, err := os.OpenFile(newest, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return 1
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return 1
	}
	if _, err := io.Copy(to, file); err != nil {
		return 2
	}
	return 0
}
