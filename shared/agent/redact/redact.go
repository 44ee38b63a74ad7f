// Package redact takes secrets out of text: known ones by value, in the forms in which programs print them, and others by
// what keys and tokens look like.
package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
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

// Redactor knows the forms of a set of secrets, and what secrets of others look like. It is immutable and safe for
// concurrent use; nil redacts nothing.
type Redactor struct {
	forms    [256][][]byte // by their first byte, longest first
	patterns [256][]pattern
}

// New makes a redactor for these values. A value of several lines is also looked for line by line, since a log cuts
// there. Values shorter than six bytes are ignored.
func New(values ...string) *Redactor {
	seen := map[string]bool{}
	r := &Redactor{}
	for _, p := range patterns() {
		r.patterns[p.prefix[0]] = append(r.patterns[p.prefix[0]], p)
	}
	add := func(form string) {
		if len(form) >= shortest && !seen[form] {
			seen[form] = true
			r.forms[form[0]] = append(r.forms[form[0]], []byte(form))
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
	for _, forms := range r.forms {
		slices.SortFunc(forms, func(a, b []byte) int { return len(b) - len(a) })
	}
	return r
}

// formsOf is one value as programs write it: plain, in a URL's path and query, in JSON, in hexadecimal, in base64 wherever
// it stands in the encoded text.
func formsOf(value string) []string {
	hexed := hex.EncodeToString([]byte(value))
	forms := []string{value, url.QueryEscape(value), url.PathEscape(value), hexed, strings.ToUpper(hexed)}
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
	out, _, found := r.scan(nil, p, nil, true)
	if !found {
		return p, false
	}
	return out, true
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
// secret. It returns the unsettled rest. before is what stood before p.
func (r *Redactor) scan(out, p, before []byte, end bool) (settled, rest []byte, found bool) {
	if r == nil {
		return append(out, p...), nil, false
	}
	i, from := 0, 0
	for i < len(p) {
		if len(r.forms[p[i]]) == 0 && len(r.patterns[p[i]]) == 0 {
			i++
			continue
		}
		if i > 0 {
			before = p[max(0, i-2):i]
		}
		n, unfinished := r.match(p[i:], before, end)
		switch {
		case unfinished:
			return append(out, p[from:i]...), p[i:], found
		case n > 0:
			out = append(append(out, p[from:i]...), Marker...)
			i += n
			from, found = i, true
		default:
			i++
		}
	}
	return append(out, p[from:]...), nil, found
}

// match is the length of the longest secret that p begins with, 0 for none; unfinished says that p may be the beginning of
// one that goes on in the next piece.
func (r *Redactor) match(p, before []byte, end bool) (n int, unfinished bool) {
	for _, form := range r.forms[p[0]] {
		length, more := matchForm(p, form)
		switch {
		case more && !end:
			return 0, true
		case length > 0:
			return length, false
		}
	}
	for _, pattern := range r.patterns[p[0]] {
		length, more := pattern.match(p, before)
		switch {
		case more && !end:
			return 0, true
		case length > 0:
			return length, false
		}
	}
	return 0, false
}

// noiseMost bounds what may stand between the bytes of a secret.
const noiseMost = 4 << 10

// matchForm says how much of p a form takes, 0 if it is another text. Codes for a terminal and line ends may stand between
// its bytes. more says that p ended before the form did.
func matchForm(p, form []byte) (length int, more bool) {
	i, noise := 0, 0
	for j := 0; j < len(form); {
		if i == len(p) {
			return 0, true
		}
		if p[i] == form[j] {
			i, j = i+1, j+1
			continue
		}
		if b := p[i]; b != 0x1b && b != '\\' && b != '\n' && b != '\r' {
			return 0, false // as nearly always
		}
		n, cut := noiseAt(p[i:])
		if cut {
			return 0, true
		}
		if noise += n; n == 0 || noise > noiseMost {
			return 0, false
		}
		i += n
	}
	return i, false
}

// Writer redacts a stream that arrives in pieces of any size.
type Writer struct {
	to      io.Writer
	by      *Redactor
	pending []byte
	before  []byte // the last two that were settled
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
	out, rest, found := w.by.scan(make([]byte, 0, len(w.pending)), w.pending, w.before, end)
	if settled := len(w.pending) - len(rest); settled > 0 {
		w.before = append([]byte(nil), w.pending[max(0, settled-2):settled]...)
	}
	w.pending = append(w.pending[:0], rest...)
	w.found = w.found || found
	if len(out) == 0 {
		return nil
	}
	_, err := w.to.Write(out)
	return err
}
