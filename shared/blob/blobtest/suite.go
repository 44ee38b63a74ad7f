// Package blobtest is the conformance suite of blob stores.
package blobtest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/uuid"

	"companyos/shared/blob"
)

// Bench is one empty store.
type Bench struct {
	Store    blob.Store
	Deleter  blob.Deleter
	MaxBytes int64
	// Spoil replaces what key holds behind the store's back.
	Spoil func(t *testing.T, key string, content []byte)
	// Later moves the clock of whoever checks presigned URLs.
	Later func(d time.Duration)
}

// Run runs every case against a fresh store from open.
func Run(t *testing.T, open func(t *testing.T) Bench) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, Bench){
		"RoundTrip":              roundTrip,
		"Missing":                missing,
		"Replace":                replace,
		"Delete":                 deletes,
		"RefusedPutLeavesKey":    refusedPutLeavesKey,
		"SpoiltContentIsNoticed": spoiltContentIsNoticed,
		"KeysThatNoStoreTakes":   keysThatNoStoreTakes,
		"ConcurrentPuts":         concurrentPuts,
		"CancelledContext":       cancelledContext,
		"PresignedRoundTrip":     presignedRoundTrip,
		"PresignedOnlyAllowsIt":  presignedOnlyAllowsIt,
		"PresignedExpires":       presignedExpires,
		"PresignedMissing":       presignedMissing,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

// Hashed returns a key of the layout that artifacts have, which promises content.
func Hashed(kind string, content []byte) string {
	sum := sha256.Sum256(content)
	return fmt.Sprintf("runs/%s/1/%s-%s", uuid.New(), kind, hex.EncodeToString(sum[:]))
}

func put(t *testing.T, b Bench, key string, content []byte) {
	t.Helper()
	if err := b.Store.Put(t.Context(), key, bytes.NewReader(content), int64(len(content))); err != nil {
		t.Fatalf("Put %s: %v", key, err)
	}
}

func read(t *testing.T, b Bench, key string) ([]byte, error) {
	t.Helper()
	rc, info, err := b.Store.Get(t.Context(), key)
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(rc)
	if err := rc.Close(); err != nil {
		t.Errorf("Close %s: %v", key, err)
	}
	if err == nil && info.Size != int64(len(content)) {
		t.Errorf("%s: size %d, content of %d bytes", key, info.Size, len(content))
	}
	return content, err
}

func expect(t *testing.T, b Bench, key string, want []byte) {
	t.Helper()
	if got, err := read(t, b, key); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s holds %d bytes %.40q, %v, want %d bytes %.40q", key, len(got), got, err, len(want), want)
	}
}

func expectMissing(t *testing.T, b Bench, key string) {
	t.Helper()
	if _, err := read(t, b, key); !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("Get %s: %v, want ErrNotFound", key, err)
	}
	if _, err := b.Store.Head(t.Context(), key); !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("Head %s: %v, want ErrNotFound", key, err)
	}
}

func roundTrip(t *testing.T, b Bench) {
	full := bytes.Repeat([]byte{0, 1, 0xfe, '\n'}, int(b.MaxBytes/4))
	for key, content := range map[string][]byte{
		Hashed("patch", []byte("diff")): []byte("diff"),
		Hashed("log", nil):              {},
		Hashed("transcript", full):      full,
		"runs/1/input.json":             []byte(`{"a":1}`),
		"one":                           []byte("a key without a folder"),
		"a b/c+d&e=f/g%2Fh/ü/#?;:@,~":   []byte("a key that needs escaping"),
		"double  space/trailing ":       []byte("spaces"),
	} {
		before := time.Now().Add(-2 * time.Second)
		put(t, b, key, content)
		expect(t, b, key, content)
		info, err := b.Store.Head(t.Context(), key)
		if err != nil || info.Size != int64(len(content)) || info.ModTime.Before(before) {
			t.Errorf("Head %s: %+v, %v", key, info, err)
		}
	}
}

func missing(t *testing.T, b Bench) {
	put(t, b, "runs/1/x", []byte("x"))
	expectMissing(t, b, "runs/1/y")
	expectMissing(t, b, "runs/1/x/z")
	expectMissing(t, b, "runs/1")
	expectMissing(t, b, "other/1/x")
}

func replace(t *testing.T, b Bench) {
	put(t, b, "k/x", []byte("a longer first content"))
	put(t, b, "k/x", []byte("second"))
	expect(t, b, "k/x", []byte("second"))
}

func deletes(t *testing.T, b Bench) {
	put(t, b, "k/x", []byte("x"))
	put(t, b, "k/y", []byte("y"))
	for range 2 { // the second finds nothing
		if err := b.Deleter.Delete(t.Context(), "k/x"); err != nil {
			t.Fatalf("Delete: %v", err)
		}
		expectMissing(t, b, "k/x")
	}
	if err := b.Deleter.Delete(t.Context(), "k"); err != nil {
		t.Errorf("Delete of what is no blob: %v", err)
	}
	expect(t, b, "k/y", []byte("y"))
}

// Whatever is wrong with a Put, its error says what, and the key holds what it held.
func refusedPutLeavesKey(t *testing.T, b Bench) {
	broken := errors.New("broken pipe")
	over := bytes.Repeat([]byte("x"), int(b.MaxBytes)+1)
	other := Hashed("patch", []byte("promised"))
	for name, test := range map[string]struct {
		key  string
		r    io.Reader
		size int64
		want error
	}{
		"over the limit":   {"k", bytes.NewReader(over), int64(len(over)), blob.ErrTooLarge},
		"far over it":      {"k", strings.NewReader(""), 1 << 50, blob.ErrTooLarge},
		"negative":         {"k", strings.NewReader(""), -1, blob.ErrTooLarge},
		"longer":           {"k", strings.NewReader("longer"), 3, blob.ErrTooLarge},
		"shorter":          {"k", strings.NewReader("shorter"), 100, io.ErrUnexpectedEOF},
		"reader fails":     {"k", io.MultiReader(strings.NewReader("12345"), iotest.ErrReader(broken)), 10, broken},
		"another content":  {other, strings.NewReader("presented"), 9, blob.ErrHash},
		"empty, not other": {other, strings.NewReader(""), 0, blob.ErrHash},
	} {
		if err := b.Store.Put(t.Context(), test.key, test.r, test.size); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
		expectMissing(t, b, test.key)
	}
	put(t, b, "k", []byte("before"))
	if err := b.Store.Put(t.Context(), "k", iotest.ErrReader(broken), 6); !errors.Is(err, broken) {
		t.Errorf("failing reader: %v", err)
	}
	expect(t, b, "k", []byte("before"))
}

func spoiltContentIsNoticed(t *testing.T, b Bench) {
	key := Hashed("patch", []byte("promised"))
	put(t, b, key, []byte("promised"))
	b.Spoil(t, key, []byte("presented"))
	if got, err := read(t, b, key); !errors.Is(err, blob.ErrHash) {
		t.Errorf("spoilt content %q: %v, want ErrHash", got, err)
	}
	put(t, b, key, []byte("promised")) // and can be put right
	expect(t, b, key, []byte("promised"))
}

func keysThatNoStoreTakes(t *testing.T, b Bench) {
	for _, key := range []string{
		"", "/", "/etc/passwd", "a/", "a//b", "..", "../x", "a/../b", "a/..", ".", "./a", "a/./b", ".tmp/x", ".url-key",
		"a/.hidden", `a\b`, "a\x00b", "a\nb", "a\x7fb", "a\u0085b", "a\xffb",
		strings.Repeat("x", 256), strings.Repeat("x/", 600) + "x",
	} {
		_, _, get := b.Store.Get(t.Context(), key)
		_, head := b.Store.Head(t.Context(), key)
		_, sign := b.Store.Presign(t.Context(), key, "GET", time.Minute)
		for operation, err := range map[string]error{
			"Put": b.Store.Put(t.Context(), key, strings.NewReader("x"), 1), "Get": get, "Head": head, "Presign": sign,
			"Delete": b.Deleter.Delete(t.Context(), key),
		} {
			if !errors.Is(err, blob.ErrKey) {
				t.Errorf("%s %.40q: %v, want ErrKey", operation, key, err)
			}
		}
	}
}

// Readers beside writers of one key see one content or another, whole.
func concurrentPuts(t *testing.T, b Bench) {
	contents := [][]byte{bytes.Repeat([]byte("a"), 20_000), bytes.Repeat([]byte("b"), 30_000)}
	put(t, b, "k", contents[0])
	var all sync.WaitGroup
	for _, content := range contents {
		all.Go(func() {
			for range 20 {
				if err := b.Store.Put(t.Context(), "k", bytes.NewReader(content), int64(len(content))); err != nil {
					t.Errorf("Put: %v", err)
				}
			}
		})
		all.Go(func() {
			for range 20 {
				got, err := read(t, b, "k")
				if err != nil || !bytes.Equal(got, contents[0]) && !bytes.Equal(got, contents[1]) {
					t.Errorf("read %d bytes, %v, neither the one content nor the other", len(got), err)
				}
			}
		})
	}
	all.Wait()
}

func cancelledContext(t *testing.T, b Bench) {
	put(t, b, "k", []byte("x"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, get := b.Store.Get(ctx, "k")
	_, head := b.Store.Head(ctx, "k")
	for operation, err := range map[string]error{
		"Put": b.Store.Put(ctx, "k", strings.NewReader("y"), 1), "Get": get, "Head": head, "Delete": b.Deleter.Delete(ctx, "k"),
	} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, want context.Canceled", operation, err)
		}
	}
	expect(t, b, "k", []byte("x"))
}
