// Package lambdahttp serves an http.Handler behind an API Gateway HTTP API (payload version 2.0). Who calls is never
// taken from the event beside the Authorization header that the handler verifies itself: the authorizer's context and
// any header that names a user mean nothing here.
package lambdahttp

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"log/slog"
	"net/http"
	"net/textproto"
	"net/url"
	"runtime/debug"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"
)

// Handler answers events.
type Handler func(ctx context.Context, event events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error)

type requestIDKey struct{}

// RequestID is API Gateway's name for the request, "" for one that did not come through Serve.
func RequestID(r *http.Request) string {
	id, _ := r.Context().Value(requestIDKey{}).(string)
	return id
}

// Serve bridges h. An event that is no HTTP request answers 400; a panic of h answers 500 and is logged.
func Serve(h http.Handler, log *slog.Logger) Handler {
	return func(ctx context.Context, event events.APIGatewayV2HTTPRequest) (out events.APIGatewayV2HTTPResponse, _ error) {
		id := event.RequestContext.RequestID
		defer func() {
			if v := recover(); v != nil {
				log.ErrorContext(ctx, "panic", "request_id", id, "panic", v, "stack", string(debug.Stack()))
				out = failure(http.StatusInternalServerError, "Internal server error")
			}
		}()
		r, err := request(context.WithValue(ctx, requestIDKey{}, id), event)
		if err != nil {
			log.WarnContext(ctx, "not an HTTP event", "request_id", id, "error", err)
			return failure(http.StatusBadRequest, "Bad Request"), nil
		}
		w := &recorder{header: http.Header{}}
		h.ServeHTTP(w, r)
		return w.response(), nil
	}
}

func failure(status int, text string) events.APIGatewayV2HTTPResponse {
	return events.APIGatewayV2HTTPResponse{
		StatusCode: status, Headers: map[string]string{"Content-Type": "application/json"}, Body: `{"detail":"` + text + `"}`,
	}
}

// request builds the request from the raw path and query, so that escapes and repeated parameters arrive as sent.
func request(ctx context.Context, event events.APIGatewayV2HTTPRequest) (*http.Request, error) {
	body := []byte(event.Body)
	if event.IsBase64Encoded {
		var err error
		if body, err = base64.StdEncoding.DecodeString(event.Body); err != nil {
			return nil, fmt.Errorf("body: %w", err)
		}
	}
	u, err := url.ParseRequestURI(event.RawPath)
	if err != nil || !strings.HasPrefix(event.RawPath, "/") {
		return nil, fmt.Errorf("path %q is not one", event.RawPath)
	}
	u.RawQuery = event.RawQueryString
	r, err := http.NewRequestWithContext(ctx, event.RequestContext.HTTP.Method, u.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.URL, r.RequestURI = u, u.RequestURI()
	for name, value := range event.Headers { // API Gateway joins repeated headers with commas
		r.Header.Set(name, value)
	}
	if len(event.Cookies) > 0 {
		r.Header.Set("Cookie", strings.Join(event.Cookies, "; "))
	}
	r.Host = event.RequestContext.DomainName
	r.RemoteAddr = event.RequestContext.HTTP.SourceIP
	return r, nil
}

// recorder keeps an answer. It refuses nothing: API Gateway takes at most 10 MB and Lambda 6 MB, and answers are smaller.
type recorder struct {
	header http.Header
	sent   http.Header // as it was when the status was written
	status int
	body   bytes.Buffer
}

func (w *recorder) Header() http.Header { return w.header }

func (w *recorder) WriteHeader(status int) {
	if w.status == 0 {
		w.status, w.sent = status, w.header.Clone()
	}
}

func (w *recorder) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(p)
}

// response leaves text as it is and encodes what is compressed or not UTF-8.
func (w *recorder) response() events.APIGatewayV2HTTPResponse {
	w.WriteHeader(http.StatusOK)
	out := events.APIGatewayV2HTTPResponse{StatusCode: w.status, Headers: map[string]string{}, Cookies: w.sent.Values("Set-Cookie")}
	for name, values := range w.sent {
		if textproto.CanonicalMIMEHeaderKey(name) != "Set-Cookie" {
			out.Headers[name] = strings.Join(values, ", ")
		}
	}
	if w.sent.Get("Content-Encoding") != "" || !utf8.Valid(w.body.Bytes()) {
		out.IsBase64Encoded, out.Body = true, base64.StdEncoding.EncodeToString(w.body.Bytes())
		return out
	}
	out.Body = w.body.String()
	return out
}
