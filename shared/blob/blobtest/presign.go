package blobtest

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// do sends a request as the sandbox does: with the URL and nothing else.
func do(t *testing.T, method, target string, body []byte) (int, []byte) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, target, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, answer
}

func sign(t *testing.T, b Bench, key, method string) string {
	t.Helper()
	target, err := b.Store.Presign(t.Context(), key, method, time.Minute)
	if err != nil {
		t.Fatalf("Presign %s %s: %v", method, key, err)
	}
	return target
}

func presignedRoundTrip(t *testing.T, b Bench) {
	content := []byte("a patch\x00\xff")
	for _, key := range []string{Hashed("patch", content), "a b/c+d&e=f/g%2Fh/ü/#?;:@,~", "one"} {
		for range 2 { // a client repeats what it does not know the answer of
			if status, answer := do(t, http.MethodPut, sign(t, b, key, http.MethodPut), content); status != http.StatusOK {
				t.Errorf("PUT %s: %d %s", key, status, answer)
			}
		}
		expect(t, b, key, content)
		if status, answer := do(t, http.MethodGet, sign(t, b, key, http.MethodGet), nil); status != http.StatusOK || !bytes.Equal(answer, content) {
			t.Errorf("GET %s: %d %q", key, status, answer)
		}
	}
	for _, method := range []string{"", "DELETE", "POST", "put"} {
		if target, err := b.Store.Presign(t.Context(), "one", method, time.Minute); err == nil {
			t.Errorf("Presign of %q: %s", method, target)
		}
	}
}

// A URL is good for its method and its key alone.
func presignedOnlyAllowsIt(t *testing.T, b Bench) {
	put(t, b, "k/mine", []byte("mine"))
	put(t, b, "k/other", []byte("other"))
	get, write := sign(t, b, "k/mine", http.MethodGet), sign(t, b, "k/mine", http.MethodPut)
	without := strings.SplitN(write, "?", 2)[0]
	for name, request := range map[string][2]string{
		"PUT with GET's URL":    {http.MethodPut, get},
		"GET with PUT's URL":    {http.MethodGet, write},
		"another key":           {http.MethodPut, strings.Replace(write, "mine", "other", 1)},
		"read another key":      {http.MethodGet, strings.Replace(get, "mine", "other", 1)},
		"no signature":          {http.MethodPut, without},
		"cut signature":         {http.MethodPut, write[:len(write)-2]},
		"later expiry":          {http.MethodPut, later(t, write)},
		"DELETE with PUT's URL": {http.MethodDelete, write},
	} {
		status, answer := do(t, request[0], request[1], []byte("changed"))
		if status != http.StatusForbidden && status != http.StatusMethodNotAllowed {
			t.Errorf("%s: %d %s, want 403", name, status, answer)
		}
		if bytes.Contains(answer, []byte("mine")) && request[0] == http.MethodGet {
			t.Errorf("%s: the answer holds the content", name)
		}
	}
	expect(t, b, "k/mine", []byte("mine"))
	expect(t, b, "k/other", []byte("other"))
}

// later is target with more time than was signed.
func later(t *testing.T, target string) string {
	t.Helper()
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	query := u.Query()
	for _, name := range []string{"exp", "X-Amz-Expires"} {
		if query.Has(name) {
			query.Set(name, query.Get(name)+"0")
		}
	}
	u.RawQuery = query.Encode()
	if u.String() == target {
		t.Fatalf("%s has no expiry", target)
	}
	return u.String()
}

func presignedExpires(t *testing.T, b Bench) {
	target := sign(t, b, "k", http.MethodPut)
	b.Later(50 * time.Second)
	if status, answer := do(t, http.MethodPut, target, []byte("in time")); status != http.StatusOK {
		t.Errorf("after 50 s of 60: %d %s", status, answer)
	}
	b.Later(11 * time.Second)
	if status, _ := do(t, http.MethodPut, target, []byte("too late")); status != http.StatusForbidden {
		t.Errorf("after 61 s of 60: %d, want 403", status)
	}
	expect(t, b, "k", []byte("in time"))
}

func presignedMissing(t *testing.T, b Bench) {
	if status, _ := do(t, http.MethodGet, sign(t, b, "k/none", http.MethodGet), nil); status != http.StatusNotFound {
		t.Errorf("GET of nothing: %d, want 404", status)
	}
}
