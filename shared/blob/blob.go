// Package blob keeps artifacts: patches, transcripts, results, logs and the frozen inputs of runs. A key that ends in
// "-<sha256>" promises its content, and the promise is checked on the way in and on the way out.
package blob

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

var (
	// ErrNotFound is a key that holds nothing.
	ErrNotFound = errors.New("blob not found")
	// ErrTooLarge is content over the store's limit, or longer than announced.
	ErrTooLarge = errors.New("blob too large")
	// ErrHash is content that is not what its key promises.
	ErrHash = errors.New("blob does not have the hash of its key")
	// ErrKey is a key that no store takes.
	ErrKey = errors.New("not a blob key")
)

// Info describes a blob.
type Info struct {
	Size    int64
	ModTime time.Time
}

// Store reads and writes blobs. A key holds all of one Put or all of another, never a mixture or a part. Every
// operation returns ErrKey for a key that ValidKey refuses.
type Store interface {
	// Put stores exactly size bytes of r, replacing what the key held. It returns ErrTooLarge for a size over the
	// limit and for an r that holds more, io.ErrUnexpectedEOF for one that holds less, ErrHash for content that the
	// key does not promise. After an error the key holds what it held.
	Put(ctx context.Context, key string, r io.Reader, size int64) error
	// Get opens a blob, ErrNotFound if there is none. For a key with a hash the last Read returns ErrHash instead of
	// io.EOF when the content is another: use nothing of it before the end was seen. The caller closes it.
	Get(ctx context.Context, key string) (io.ReadCloser, Info, error)
	// Head describes a blob, ErrNotFound if there is none. It does not look at the content.
	Head(ctx context.Context, key string) (Info, error)
	// Presign returns a URL that allows method (GET or PUT) on key, and nothing else, for ttl. It does not look
	// whether the blob is there.
	Presign(ctx context.Context, key, method string, ttl time.Duration) (string, error)
}

// Deleter removes blobs; only retention may.
type Deleter interface {
	// Delete removes a blob. One that is not there is no error.
	Delete(ctx context.Context, key string) error
}

// The limits of a key: S3's length, and the length of a file name.
const (
	maxKey     = 1024
	maxSegment = 255
)

// ValidKey returns ErrKey unless key is a relative path of plain segments: no empty one, none that begins with a dot,
// no backslash and no control characters. Such a key means the same in S3, in a folder and in a URL.
func ValidKey(key string) error {
	if len(key) > maxKey || !utf8.ValidString(key) {
		return fmt.Errorf("%w: %d bytes, or not UTF-8", ErrKey, len(key))
	}
	if strings.ContainsFunc(key, func(r rune) bool { return r == '\\' || unicode.IsControl(r) }) {
		return fmt.Errorf("%w: %q", ErrKey, key)
	}
	for segment := range strings.SplitSeq(key, "/") {
		if segment == "" || segment[0] == '.' || len(segment) > maxSegment {
			return fmt.Errorf("%w: %q", ErrKey, key)
		}
	}
	return nil
}

// KeyHash returns the SHA-256, in lower-case hex, that key promises; false if it promises none.
func KeyHash(key string) (string, bool) {
	i := len(key) - 2*sha256.Size
	if i < 1 || key[i-1] != '-' {
		return "", false
	}
	sum := key[i:]
	if strings.ContainsFunc(sum, func(r rune) bool { return (r < '0' || r > '9') && (r < 'a' || r > 'f') }) {
		return "", false
	}
	return sum, true
}

// Exactly returns r limited to what Put may read of it: its Read returns ErrTooLarge when r holds more than size
// bytes, io.ErrUnexpectedEOF when it holds fewer and ErrHash when key promises other content.
func Exactly(r io.Reader, key string, size int64) io.Reader {
	return Verify(&exact{r: r, left: size}, key)
}

type exact struct {
	r    io.Reader
	left int64
}

func (e *exact) Read(p []byte) (int, error) {
	if int64(len(p)) > e.left+1 {
		p = p[:e.left+1] // one more, to notice it
	}
	n, err := e.r.Read(p)
	if e.left -= int64(n); e.left < 0 {
		return 0, fmt.Errorf("%w: longer than announced", ErrTooLarge)
	}
	if err == io.EOF && e.left > 0 {
		return n, io.ErrUnexpectedEOF
	}
	return n, err
}

// Verify returns r whose end is ErrHash instead of io.EOF when its content is not what key promises. For a key that
// promises nothing it is r.
func Verify(r io.Reader, key string) io.Reader {
	sum, ok := KeyHash(key)
	if !ok {
		return r
	}
	hash := sha256.New()
	return &verified{r: io.TeeReader(r, hash), check: func() error {
		if hex.EncodeToString(hash.Sum(nil)) != sum {
			return fmt.Errorf("%w: %s", ErrHash, key)
		}
		return io.EOF
	}}
}

type verified struct {
	r     io.Reader
	check func() error
}

func (v *verified) Read(p []byte) (int, error) {
	n, err := v.r.Read(p)
	if errors.Is(err, io.EOF) {
		err = v.check()
	}
	return n, err
}

// VerifyCloser is Verify for what Get returns.
func VerifyCloser(rc io.ReadCloser, key string) io.ReadCloser {
	return struct {
		io.Reader
		io.Closer
	}{Verify(rc, key), rc}
}
