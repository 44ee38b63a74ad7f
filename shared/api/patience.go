package api

import (
	"context"
	"net/http"
	"strings"
	"time"
)

// How long one request may take, its body and its answer included. API Gateway gives up after 29 seconds; on one machine a
// client that sends a byte a minute, or a database that takes questions and never answers, would hold a request for ever.
const (
	defaultPatience = 28 * time.Second
	blobPatience    = 15 * time.Minute // uploads and downloads, as long as a presigned URL's would take on a slow line
	timeToSay       = 5 * time.Second  // for the answer that says so
)

// limit bounds a request. Where the connection is somebody else's, as behind API Gateway, the context alone is bounded.
func (s *server) limit(w http.ResponseWriter, r *http.Request) (*http.Request, context.CancelFunc) {
	patience := s.Patience
	if strings.HasPrefix(r.URL.Path, "/sandbox/blobs/") {
		patience = max(patience, blobPatience)
	}
	connection, until := http.NewResponseController(w), time.Now().Add(patience)
	_ = connection.SetReadDeadline(until)
	_ = connection.SetWriteDeadline(until.Add(timeToSay))
	ctx, cancel := context.WithDeadline(r.Context(), until)
	return r.WithContext(ctx), cancel
}
