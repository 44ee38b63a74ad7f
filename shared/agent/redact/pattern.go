package redact

import "bytes"

// pattern is what a kind of secret looks like: a beginning that is its own, then characters of a set.
type pattern struct {
	prefix string
	set    func(byte) bool
	least  int // characters after the prefix
	check  func(secret []byte) bool
	until  string // instead of a set: the text goes on to this
}

// patternMost bounds a secret that is known by its pattern alone.
const patternMost = 16 << 10

// patterns are those of keys and tokens that agents meet. What is too short for one is an example in a text.
func patterns() []pattern {
	all := []pattern{
		{prefix: "sk-ant-", set: word, least: 20},
		{prefix: "sk-", set: word, least: 32, check: hasDigit},
		{prefix: "github_pat_", set: word, least: 40},
		{prefix: "glpat-", set: word, least: 20},
		{prefix: "AIza", set: word, least: 35},
		{prefix: "cl1.", set: token, least: 60},
		{prefix: "cs1.", set: token, least: 60},
		{prefix: "eyJ", set: token, least: 60, check: func(s []byte) bool { return bytes.Count(s, []byte(".")) == 2 }},
		{prefix: "-----BEGIN ", until: "PRIVATE KEY-----", check: isKey},
	}
	for _, prefix := range []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_"} {
		all = append(all, pattern{prefix: prefix, set: word, least: 30})
	}
	for _, prefix := range []string{"xoxb-", "xoxp-", "xoxa-", "xapp-"} {
		all = append(all, pattern{prefix: prefix, set: word, least: 20, check: hasDigit})
	}
	for _, prefix := range []string{"AKIA", "ASIA"} {
		all = append(all, pattern{prefix: prefix, set: upper, least: 16, check: func(s []byte) bool { return len(s) == 20 }})
	}
	return all
}

func upper(b byte) bool { return 'A' <= b && b <= 'Z' || '0' <= b && b <= '9' }

func word(b byte) bool { return upper(b) || 'a' <= b && b <= 'z' || b == '_' || b == '-' }

func token(b byte) bool { return word(b) || b == '.' }

func hasDigit(s []byte) bool { return bytes.ContainsAny(s, "0123456789") }

// within says that a word goes on here, so that no token begins. The n of a line end in JSON is no word.
func within(before []byte) bool {
	n := len(before)
	if n == 0 || !word(before[n-1]) {
		return false
	}
	return n < 2 || before[n-2] != '\\'
}

// match says how much of p the pattern takes, 0 if it is another text; more says that p ended too early to tell.
func (t pattern) match(p, before []byte) (length int, more bool) {
	if within(before) {
		return 0, false
	}
	if len(p) < len(t.prefix) {
		return 0, bytes.HasPrefix([]byte(t.prefix), p)
	}
	if !bytes.HasPrefix(p, []byte(t.prefix)) {
		return 0, false
	}
	if t.until != "" {
		return t.block(p)
	}
	end := len(t.prefix)
	for end < len(p) && end < patternMost && t.set(p[end]) {
		end++
	}
	if end-len(t.prefix) < t.least || t.check != nil && !t.check(p[:end]) {
		return 0, end == len(p)
	}
	return end, end == len(p) && end < patternMost
}

// block is a text between two lines, as PEM has it: the last line counts as the end.
func (t pattern) block(p []byte) (length int, more bool) {
	const firstLine = 64
	head := bytes.Index(p[:min(len(p), firstLine)], []byte(t.until))
	if head < 0 {
		return 0, len(p) < firstLine
	}
	if t.check != nil && !t.check(p[:head]) {
		return 0, false
	}
	rest := p[head+len(t.until):]
	if end := bytes.Index(rest, []byte(t.until)); end >= 0 && end < patternMost {
		return head + end + 2*len(t.until), false
	}
	if len(p) >= patternMost {
		return patternMost, false
	}
	return len(p), true // without its end it is redacted as far as it goes
}

// isKey says that a block's first line names a key and nothing else.
func isKey(head []byte) bool { return !bytes.ContainsAny(head, "\n\"'`<>") }
