package api

import (
	"compress/gzip"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"companyos/shared/wire"
)

// gzipFrom is the size from which an answer is compressed; below it the packet is the same.
const gzipFrom = 1400

// writeJSON answers with a record.
func (s *server) writeJSON(w http.ResponseWriter, r *http.Request, status int, answer any) {
	body, err := wire.Marshal(answer)
	if err != nil {
		// A record is made of text and numbers, and its text comes from a database that holds UTF-8 only.
		panic(fmt.Errorf("encode the answer of %s: %w", r.URL.Path, err))
	}
	write(w, r, status, "application/json", body)
}

// write answers with a body, compressed where that pays and is understood.
func write(w http.ResponseWriter, r *http.Request, status int, contentType string, body []byte) {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Add("Vary", "Accept-Encoding")
	if len(body) < gzipFrom || !acceptsGzip(r.Header.Values("Accept-Encoding")) {
		h.Set("Content-Length", strconv.Itoa(len(body)))
		w.WriteHeader(status)
		if r.Method != http.MethodHead {
			_, _ = w.Write(body) //nolint:gosec // records as JSON, and a page that is escaped; a client that went away is nobody's error
		}
		return
	}
	h.Set("Content-Encoding", "gzip")
	w.WriteHeader(status)
	if r.Method == http.MethodHead {
		return
	}
	z := gzip.NewWriter(w)
	_, _ = z.Write(body)
	_ = z.Close()
}

// acceptsGzip reads Accept-Encoding (RFC 9110, 12.5.3).
func acceptsGzip(headers []string) bool {
	for coding := range strings.SplitSeq(strings.Join(headers, ","), ",") {
		name, parameters, _ := strings.Cut(coding, ";")
		if name = strings.ToLower(strings.TrimSpace(name)); name != "gzip" && name != "*" {
			continue
		}
		weight := strings.TrimPrefix(strings.ReplaceAll(strings.ToLower(parameters), " ", ""), "q=")
		q, err := strconv.ParseFloat(weight, 64)
		return parameters == "" || err != nil || q > 0
	}
	return false
}

// kib writes a size for people.
func kib(n int64) string {
	if n >= 1<<20 {
		return strconv.FormatInt(n>>20, 10) + " MiB"
	}
	return strconv.FormatInt(n>>10, 10) + " KiB"
}
