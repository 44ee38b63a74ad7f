// Package redact takes known secrets out of text: by value, in the forms in which programs print them.
package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/url"
	"slices"
	"strings"
)

// Marker stands where a secret was.
const Marker = "[redacted]"

// shortest is the length below which a value is no secret that could be told from ordinary text.
const shortest = 6

// Redactor knows the forms of a set of secrets. It is immutable and safe for concurrent use; the zero value redacts
// nothing.
type Redactor struct {
	forms   [][]byte // longest first
	first   [256]bool
	longest int
}

// New makes a redactor for these values. A value of several lines is also looked for line by line, since a log cuts
// there. Values shorter than six bytes are ignored.
func New(values ...string) *Redactor {
	seen := map[string]bool{}
	r := &Redactor{}
	add := func(form string) {
		if len(form) >= shortest && !seen[form] {
			seen[form] = true
			r.forms = append(r.forms, []byte(form))
			r.first[form[0]] = true
			r.longest = max(r.longest, len(form))
		}
	}
	for _, value := range values {
		for _, part := range append(strings.Split(value, "\n"), value) {
			if part = strings.TrimSpace(part); len(part) >= shortest {
				for _, form := range formsOf(part) {
					add(form)
				}
			}
		}
	}
	slices.SortFunc(r.forms, func(a, b []byte) int { return len(b) - len(a) })
	return r
}

// formsOf is one value as programs write it: plain, in a URL's path and query, in JSON, in base64 wherever it stands in
// the encoded text.
func formsOf(value string) []string {
	forms := []string{value, url.QueryEscape(value), url.PathEscape(value)}
	for _, escaped := range []bool{true, false} {
		var out bytes.Buffer
		enc := json.NewEncoder(&out)
		enc.SetEscapeHTML(escaped)
		if enc.Encode(value) == nil {
			forms = append(forms, strings.Trim(strings.TrimSpace(out.String()), `"`))
		}
	}
	for offset := range 3 {
		padded := append(make([]byte, offset), value...)
		for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			text := encoding.EncodeToString(padded)
			// The characters that also hold bits of what stands before and after the value.
			head := []int{0, 2, 3}[offset]
			tail := len(text)
			if len(padded)%3 != 0 {
				tail--
			}
			if tail > head {
				forms = append(forms, text[head:tail])
			}
		}
	}
	return forms
}

// Bytes returns p without the secrets, and whether anything was taken out. Without a find it is p itself.
func (r *Redactor) Bytes(p []byte) ([]byte, bool) {
	out, rest, found := r.scan(nil, p, true)
	if !found {
		return p, false
	}
	return append(out, rest...), true
}

// String returns s without the secrets.
func (r *Redactor) String(s string) string {
	out, found := r.Bytes([]byte(s))
	if !found {
		return s
	}
	return string(out)
}

// scan appends to out what of p is settled: everything if this is the end, else all but what may be the beginning of a
// secret. It returns the unsettled rest.
func (r *Redactor) scan(out, p []byte, end bool) (settled, rest []byte, found bool) {
	i, from := 0, 0
	for i < len(p) {
		if !r.firstByte(p[i]) {
			i++
			continue
		}
		if form := r.match(p[i:]); form > 0 {
			out = append(append(out, p[from:i]...), Marker...)
			i += form
			from, found = i, true
			continue
		}
		if !end && r.unfinished(p[i:]) {
			break
		}
		i++
	}
	return append(out, p[from:i]...), p[i:], found
}

func (r *Redactor) firstByte(b byte) bool { return r != nil && r.first[b] }

// match is the length of the longest form that p begins with, 0 for none.
func (r *Redactor) match(p []byte) int {
	for _, form := range r.forms {
		if bytes.HasPrefix(p, form) {
			return len(form)
		}
	}
	return 0
}

// unfinished says that p may be the beginning of a form that goes on in the next piece.
func (r *Redactor) unfinished(p []byte) bool {
	for _, form := range r.forms {
		if len(p) < len(form) && bytes.HasPrefix(form, p) {
			return true
		}
	}
	return false
}

// Writer redacts a stream that arrives in pieces of any size.
type Writer struct {
	to      io.Writer
	by      *Redactor
	pending []byte
	found   bool
}

// Writer returns a writer that passes everything on without the secrets. Close writes what it held back, and does not
// close to.
func (r *Redactor) Writer(to io.Writer) *Writer { return &Writer{to: to, by: r} }

// Write takes a piece.
func (w *Writer) Write(p []byte) (int, error) {
	w.pending = append(w.pending, p...)
	if err := w.flush(false); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Close writes the rest.
func (w *Writer) Close() error { return w.flush(true) }

// Found says that something was taken out so far.
func (w *Writer) Found() bool { return w.found }

func (w *Writer) flush(end bool) error {
	out, rest, found := w.by.scan(make([]byte, 0, len(w.pending)), w.pending, end)
	w.pending = append(w.pending[:0], rest...)
	w.found = w.found || found
	if len(out) == 0 {
		return nil
	}
	_, err := w.to.Write(out)
	return err
}
