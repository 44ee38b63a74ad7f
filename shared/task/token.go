package task

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

// TokenKind is what a sandbox's token is good for.
type TokenKind string

// The kinds of sandbox tokens. A launch token claims one launch of one run; a session token reports about it.
const (
	TokenLaunch  TokenKind = "cl1"
	TokenSession TokenKind = "cs1"
)

// secretLength is that of 256 random bits in unpadded base64.
const secretLength = 43

// Token is a sandbox's token, taken apart.
type Token struct {
	Kind   TokenKind
	RunID  string
	Launch int
	Hash   string // of the whole text
}

// MakeToken returns the text of a token; secret is 256 random bits in unpadded URL-safe base64.
func MakeToken(kind TokenKind, runID string, launch int, secret string) string {
	return string(kind) + "." + runID + "." + strconv.Itoa(launch) + "." + secret
}

// HashToken is what is kept of a token.
func HashToken(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// ParseToken reads a token; ok is false for a text that cannot be one, so that nobody asks the database about it.
func ParseToken(text string) (t Token, ok bool) {
	parts := strings.Split(text, ".")
	if len(parts) != 4 || len(parts[3]) != secretLength || strings.ContainsFunc(parts[3], notBase64) {
		return t, false
	}
	t.Kind, t.RunID = TokenKind(parts[0]), parts[1]
	id, err := uuid.Parse(t.RunID)
	if err != nil || id.String() != t.RunID || (t.Kind != TokenLaunch && t.Kind != TokenSession) {
		return t, false
	}
	t.Launch, err = strconv.Atoi(parts[2])
	if err != nil || t.Launch < 1 || strconv.Itoa(t.Launch) != parts[2] {
		return t, false
	}
	t.Hash = HashToken(text)
	return t, true
}

func notBase64(r rune) bool {
	return (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_'
}
