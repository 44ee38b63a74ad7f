package redact

import "bytes"

// The beginnings of a terminal's codes: the byte itself, and as JSON and shells write it.
var escapes = [][]byte{{0x1b}, []byte(`\u001b`), []byte(`\u001B`), []byte(`\x1b`), []byte(`\033`), []byte(`\e`)}

// lineEnds are what text is wrapped with, and as JSON writes it.
var lineEnds = [][]byte{[]byte("\r\n"), []byte("\n"), []byte("\r"), []byte(`\r\n`), []byte(`\n`), []byte(`\r`)}

// noiseAt is the length of what p begins with when a terminal would not show it as text, 0 for none. cut says that p ended
// within it.
func noiseAt(p []byte) (n int, cut bool) {
	for _, escape := range escapes {
		if bytes.HasPrefix(p, escape) {
			length, cut := codeAt(p[len(escape):])
			if length > 0 || cut {
				return len(escape) + length, cut
			}
		}
		if bytes.HasPrefix(escape, p) {
			return 0, true
		}
	}
	for _, end := range lineEnds {
		if bytes.HasPrefix(p, end) {
			return len(end), false
		}
		if bytes.HasPrefix(end, p) {
			return 0, true
		}
	}
	return 0, false
}

// codeAt is the length of a code after its escape: a control sequence, a command that ends with BEL or ST, or one character.
func codeAt(p []byte) (n int, cut bool) {
	if len(p) == 0 {
		return 0, true
	}
	switch p[0] {
	case '[':
		for i, b := range p[1:] {
			if b >= 0x40 && b <= 0x7e {
				return i + 2, false
			}
			if i > 64 {
				return 0, false
			}
		}
		return 0, true
	case ']', 'P', '_', '^':
		for i, b := range p[1:] {
			if b == 0x07 || b == '\\' {
				return i + 2, false
			}
			if i > 1024 {
				return 0, false
			}
		}
		return 0, true
	default:
		if p[0] >= 0x30 && p[0] <= 0x7e {
			return 1, false
		}
		return 0, false
	}
}
