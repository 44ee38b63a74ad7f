package dir

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"companyos/shared/blob"
)

const prefix = "/sandbox/blobs/"

// Presign implements blob.Store. The URL is good for any number of uses until it expires, as S3's are.
func (s *Store) Presign(_ context.Context, key, method string, ttl time.Duration) (string, error) {
	if err := blob.ValidKey(key); err != nil {
		return "", fmt.Errorf("presign blob: %w", err)
	}
	if method != http.MethodGet && method != http.MethodPut {
		return "", fmt.Errorf("presign blob: method %q", method)
	}
	exp := strconv.FormatInt(s.cfg.Now().Add(ttl).Unix(), 10)
	segments := strings.Split(key, "/")
	for i := range segments {
		segments[i] = url.PathEscape(segments[i])
	}
	query := url.Values{"exp": {exp}, "sig": {hex.EncodeToString(s.sign(method, key, exp))}}
	return strings.TrimSuffix(s.cfg.BaseURL, "/") + prefix + strings.Join(segments, "/") + "?" + query.Encode(), nil
}

// sign binds method, key and expiry. No part can hold the separator: a key has no control characters.
func (s *Store) sign(method, key, exp string) []byte {
	mac := hmac.New(sha256.New, s.urlKey)
	io.WriteString(mac, "blob-url-1\n"+method+"\n"+key+"\n"+exp)
	return mac.Sum(nil)
}

// Handler serves PUT and GET /sandbox/blobs/{key}?exp=&sig=. Who holds the URL may use it; there is no other
// authorization. It answers as S3 does where a client can tell: 403 for a signature that is wrong or past, 404, 411
// without a length, 413, 400 for content that the key does not promise. 507 is a full disk.
func (s *Store) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+prefix+"{key...}", s.allowed(s.serveGet))
	mux.HandleFunc("PUT "+prefix+"{key...}", s.allowed(s.servePut))
	return mux
}

// allowed lets a request pass whose signature is right and not past.
func (s *Store) allowed(next func(w http.ResponseWriter, r *http.Request, key string)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		key, query := r.PathValue("key"), r.URL.Query()
		exp, sig := query.Get("exp"), query.Get("sig")
		given, err := hex.DecodeString(sig)
		// HEAD reaches the GET route, but nothing signs it.
		if err != nil || !hmac.Equal(given, s.sign(r.Method, key, exp)) {
			http.Error(w, "the URL's signature does not match", http.StatusForbidden)
			return
		}
		until, err := strconv.ParseInt(exp, 10, 64)
		if err != nil || s.cfg.Now().Unix() >= until {
			http.Error(w, "the URL has expired; ask for a new one", http.StatusForbidden)
			return
		}
		next(w, r, key)
	}
}

func (s *Store) servePut(w http.ResponseWriter, r *http.Request, key string) {
	if r.ContentLength < 0 {
		http.Error(w, "Content-Length is required", http.StatusLengthRequired)
		return
	}
	// Where the limit is passed nothing is read; the server closes the connection rather than drain it.
	r.Body = http.MaxBytesReader(w, r.Body, s.cfg.MaxBytes)
	if err := s.Put(r.Context(), key, r.Body, r.ContentLength); err != nil {
		refuse(w, r, err)
	}
}

func (s *Store) serveGet(w http.ResponseWriter, r *http.Request, key string) {
	content, info, err := s.Get(r.Context(), key)
	if err != nil {
		refuse(w, r, err)
		return
	}
	defer content.Close()
	// The content is an agent's: no browser may take it for a page of this origin.
	h := w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	h.Set("Cache-Control", "private, no-store")
	h.Set("Content-Length", strconv.FormatInt(info.Size, 10))
	if err := sendVerified(w, content, info.Size); err != nil {
		slog.ErrorContext(r.Context(), "blob not served whole", "key", key, "error", err)
		panic(http.ErrAbortHandler) // the status is out: only a broken connection tells the client
	}
}

// sendVerified copies content of that size and holds its last byte back until the content's hash is seen to be right: a
// client never gets all of what is spoilt.
func sendVerified(w io.Writer, content io.Reader, size int64) error {
	if _, err := io.CopyN(w, content, max(size-1, 0)); err != nil {
		return err
	}
	last, err := io.ReadAll(content)
	if err != nil {
		return err
	}
	_, err = w.Write(last)
	return err
}

// refuse answers an error. Its text stays here.
func refuse(w http.ResponseWriter, r *http.Request, err error) {
	status, text := http.StatusInternalServerError, "internal error"
	switch {
	case errors.Is(err, blob.ErrNotFound):
		status, text = http.StatusNotFound, "no such blob"
	case errors.Is(err, blob.ErrTooLarge):
		status, text = http.StatusRequestEntityTooLarge, "too large"
	case errors.Is(err, blob.ErrHash):
		status, text = http.StatusBadRequest, "the content does not have the hash of its key"
	case errors.Is(err, io.ErrUnexpectedEOF):
		status, text = http.StatusBadRequest, "the body ended before its Content-Length"
	case errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT):
		status, text = http.StatusInsufficientStorage, "the disk is full"
	}
	if status >= http.StatusInternalServerError {
		slog.ErrorContext(r.Context(), "blob request failed", "method", r.Method, "error", err)
	}
	http.Error(w, text, status)
}
