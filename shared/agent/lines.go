package agent

import (
	"bufio"
	"errors"
	"io"
)

// The bounds of a harness's lines. A JSON text within a longer line is shortened where it stands, so that the line is
// still read: an answer of 50 MB is an answer, and takes no memory of that size. What is longer even so is cut.
const (
	lineLimit   = 1 << 20
	stringLimit = 256 << 10
)

// eachLine reads lines of any length, without their newline, until from ends. A line is good only within see.
func eachLine(from io.Reader, see func(line []byte)) error {
	r := bufio.NewReaderSize(from, 64<<10)
	var s shortener
	for {
		part, err := r.ReadSlice('\n')
		full := errors.Is(err, bufio.ErrBufferFull)
		if !full && err == nil {
			part = part[:len(part)-1]
		}
		s.add(part)
		if full {
			continue
		}
		if n := len(s.line); n > 0 && s.line[n-1] == '\r' {
			s.line = s.line[:n-1]
		}
		if len(s.line) > 0 {
			see(s.line)
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		s.reset()
	}
}

// shortener gathers a line and shortens the JSON strings in it.
type shortener struct {
	line   []byte
	text   bool // within a string
	size   int  // of the string so far
	escape int  // bytes of an escape still to come
}

func (s *shortener) reset() {
	if cap(s.line) > 256<<10 {
		s.line = nil
	}
	*s = shortener{line: s.line[:0]}
}

func (s *shortener) add(part []byte) {
	for _, b := range part {
		if !s.keeps(b) || len(s.line) >= lineLimit {
			continue
		}
		s.line = append(s.line, b)
	}
}

// keeps follows the string that b is in, and says whether b belongs to what is kept. A string is cut between characters.
func (s *shortener) keeps(b byte) bool {
	if !s.text {
		s.text, s.size, s.escape = b == '"', 0, 0
		return true
	}
	begins := s.escape == 0 && b&0xC0 != 0x80
	over := s.size > stringLimit || s.size == stringLimit && begins
	switch {
	case s.escape > 0:
		if s.escape--; s.escape == 0 && b == 'u' && s.last() == '\\' {
			s.escape = 4
		}
	case b == '"':
		s.text = false
		return true
	case b == '\\':
		s.escape = 1
	}
	if over {
		s.size = stringLimit + 1
		return false
	}
	if s.size < stringLimit {
		s.size++
	}
	return true
}

func (s *shortener) last() byte {
	if len(s.line) == 0 {
		return 0
	}
	return s.line[len(s.line)-1]
}
