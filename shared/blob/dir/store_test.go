package dir_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"companyos/shared/blob"
	"companyos/shared/blob/blobtest"
	"companyos/shared/blob/dir"
)

const maxBytes = 64 << 10

// clock is a clock that a test moves.
type clock struct {
	mu     sync.Mutex
	passed time.Duration
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.passed)
}

func (c *clock) later(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.passed += d
}

// bundle is a store with its HTTP server, in a folder of its own.
type bundle struct {
	*dir.Store
	folder string
	url    string
	clock  *clock
}

func open(t *testing.T, folder string) bundle {
	t.Helper()
	b := bundle{folder: folder, clock: &clock{}}
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	store, err := dir.Open(folder, dir.Config{MaxBytes: maxBytes, BaseURL: server.URL, Now: b.clock.now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	mux.Handle("/sandbox/blobs/", store.Handler())
	b.Store, b.url = store, server.URL
	return b
}

func TestConformance(t *testing.T) {
	t.Parallel()
	blobtest.Run(t, func(t *testing.T) blobtest.Bench {
		b := open(t, filepath.Join(t.TempDir(), "made", "by", "open"))
		return blobtest.Bench{
			Store: b, Deleter: b, MaxBytes: maxBytes, Later: b.clock.later,
			Spoil: func(t *testing.T, key string, content []byte) {
				t.Helper()
				if err := os.WriteFile(filepath.Join(b.folder, filepath.FromSlash(key)), content, 0o600); err != nil {
					t.Fatal(err)
				}
			},
		}
	})
}

// files lists the regular files under folder.
func files(t *testing.T, folder string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			found = append(found, strings.TrimPrefix(path, folder+"/"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestRefusedPutLeavesNoFile(t *testing.T) {
	t.Parallel()
	b := open(t, t.TempDir())
	if err := b.Put(t.Context(), "k", strings.NewReader("short"), 100); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatal(err)
	}
	if err := b.Put(t.Context(), blobtest.Hashed("log", nil), strings.NewReader("x"), 1); !errors.Is(err, blob.ErrHash) {
		t.Fatal(err)
	}
	if err := b.Put(t.Context(), "folder/k", strings.NewReader("x"), 1); err != nil {
		t.Fatal(err)
	}
	if err := b.Put(t.Context(), "folder", strings.NewReader("x"), 1); err == nil {
		t.Error("a folder was replaced by a blob")
	}
	if got := files(t, b.folder); len(got) != 2 { // the URL key and folder/k
		t.Errorf("files %v", got)
	}
}

// A Put that a crash interrupted is removed at the next start, one of a living process is not.
func TestOpenRemovesWhatACrashLeft(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	open(t, folder)
	left, young := filepath.Join(folder, ".tmp", "left"), filepath.Join(folder, ".tmp", "young")
	for _, name := range []string{left, young} {
		if err := os.WriteFile(name, []byte("part"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chtimes(left, time.Time{}, time.Now().Add(-2*time.Hour)); err != nil {
		t.Fatal(err)
	}
	open(t, folder)
	if got := files(t, folder); strings.Join(got, " ") != ".tmp/young .url-key" {
		t.Errorf("files %v", got)
	}
}

// The store follows no link out of its folder, whoever laid it.
func TestNoLinkLeadsOut(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "secret"), []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := open(t, t.TempDir())
	for link, target := range map[string]string{"file": filepath.Join(outside, "secret"), "folder": outside, "key": ".url-key"} {
		if err := os.Symlink(target, filepath.Join(b.folder, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range []string{"file", "folder/secret", "key"} {
		if rc, _, err := b.Get(t.Context(), key); err == nil {
			content, _ := io.ReadAll(rc)
			t.Errorf("Get %s: %q", key, content)
		}
	}
	if err := b.Put(t.Context(), "folder/new", strings.NewReader("x"), 1); err == nil {
		t.Error("Put through a link out of the folder")
	}
	if err := b.Put(t.Context(), "file", strings.NewReader("x"), 1); err != nil { // replaces the link itself
		t.Error(err)
	}
	if content, err := os.ReadFile(filepath.Join(outside, "secret")); err != nil || string(content) != "secret" {
		t.Errorf("outside: %q, %v", content, err)
	}
}

func TestURLsOutliveARestartAndAreOfTheirFolder(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	first := open(t, folder)
	target, err := first.Presign(t.Context(), "k", http.MethodPut, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		store bundle
		want  int
	}{{open(t, folder), http.StatusOK}, {open(t, t.TempDir()), http.StatusForbidden}} {
		status, _, _ := request(t, http.MethodPut, strings.Replace(target, first.url, test.store.url, 1), strings.NewReader("x"))
		if status != test.want {
			t.Errorf("%d, want %d", status, test.want)
		}
	}
	if info, err := os.Stat(filepath.Join(folder, ".url-key")); err != nil || info.Mode().Perm() != 0o600 || info.Size() != 32 {
		t.Errorf("URL key %+v, %v", info, err)
	}
}

// Processes that open a new folder at once agree on its key.
func TestConcurrentOpensAgreeOnTheKey(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	urls := make([]string, 8)
	var all sync.WaitGroup
	for i := range urls {
		all.Go(func() {
			store, err := dir.Open(folder, dir.Config{BaseURL: "http://x", Now: func() time.Time { return time.Unix(1, 0) }})
			if err != nil {
				t.Error(err)
				return
			}
			urls[i], err = store.Presign(t.Context(), "k", http.MethodGet, time.Minute)
			if err := errors.Join(err, store.Close()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, u := range urls {
		if u != urls[0] || u == "" {
			t.Errorf("%s and %s", u, urls[0])
		}
	}
}

func TestOpenRefusesABrokenURLKey(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, ".url-key"), []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := dir.Open(folder, dir.Config{}); err == nil || !strings.Contains(err.Error(), ".url-key") {
		t.Errorf("Open: %v", err)
	}
}

func request(t *testing.T, method, target string, body io.Reader) (int, http.Header, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, target, body)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, response.Header, string(answer)
}

func TestHandlerRefusesWhatIsNoBlob(t *testing.T) {
	t.Parallel()
	b := open(t, t.TempDir())
	promised := blobtest.Hashed("patch", []byte("promised"))
	unknownLength := struct{ io.Reader }{strings.NewReader("chunked")}
	for name, test := range map[string]struct {
		key  string
		body io.Reader
		want int
	}{
		"over the limit":  {"k", bytes.NewReader(make([]byte, maxBytes+1)), http.StatusRequestEntityTooLarge},
		"far over it":     {"k", bytes.NewReader(make([]byte, 100*maxBytes)), http.StatusRequestEntityTooLarge},
		"without length":  {"k", unknownLength, http.StatusLengthRequired},
		"another content": {promised, strings.NewReader("presented"), http.StatusBadRequest},
		"at the limit":    {"k", bytes.NewReader(make([]byte, maxBytes)), http.StatusOK},
	} {
		target, err := b.Presign(t.Context(), test.key, http.MethodPut, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if status, _, answer := request(t, http.MethodPut, target, test.body); status != test.want || strings.Contains(answer, b.folder) {
			t.Errorf("%s: %d %s, want %d", name, status, answer, test.want)
		}
	}
}

// An agent wrote the content: a browser must not take it for a page of the company.
func TestHandlerServesNoPages(t *testing.T) {
	t.Parallel()
	b := open(t, t.TempDir())
	if err := b.Put(t.Context(), "page.html", strings.NewReader("<script>"), 8); err != nil {
		t.Fatal(err)
	}
	target, err := b.Presign(t.Context(), "page.html", http.MethodGet, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	status, header, _ := request(t, http.MethodGet, target, nil)
	got := fmt.Sprint(status, header["Content-Type"], header["X-Content-Type-Options"], header["Content-Security-Policy"], header["Content-Length"])
	if want := "200 [application/octet-stream] [nosniff] [sandbox; default-src 'none'] [8]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if status, _, _ := request(t, http.MethodHead, target, nil); status != http.StatusForbidden {
		t.Errorf("HEAD with GET's URL: %d", status)
	}
}

// Content that rotted on the disk breaks the connection; it is not passed off as whole.
func TestHandlerBreaksOffSpoiltContent(t *testing.T) {
	t.Parallel()
	b := open(t, t.TempDir())
	key := blobtest.Hashed("patch", []byte("promised"))
	if err := b.Put(t.Context(), key, strings.NewReader("promised"), 8); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(b.folder, key), bytes.Repeat([]byte("x"), maxBytes), 0o600); err != nil {
		t.Fatal(err)
	}
	target, err := b.Presign(t.Context(), key, http.MethodGet, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.Get(target)
	if err == nil {
		_, err = io.ReadAll(response.Body)
		response.Body.Close()
	}
	if err == nil {
		t.Error("spoilt content was served as whole")
	}
}

// A path that climbs, however it is written, reaches nothing.
func TestHandlerKeepsToItsKeys(t *testing.T) {
	t.Parallel()
	b := open(t, t.TempDir())
	target, err := b.Presign(t.Context(), "k", http.MethodGet, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	_, query, _ := strings.Cut(target, "?")
	for _, path := range []string{".url-key", "%2eurl-key", "..%2f..%2fetc%2fpasswd", "../../etc/passwd", "a//b", "%2fetc%2fpasswd", ""} {
		status, _, answer := request(t, http.MethodGet, b.url+"/sandbox/blobs/"+path+"?"+query, nil)
		if status != http.StatusForbidden && status != http.StatusNotFound {
			t.Errorf("%s: %d %.80s", path, status, answer)
		}
	}
}
