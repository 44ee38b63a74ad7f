package lambdahttp_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"companyos/shared/lambdahttp"
)

// event reads the sample event and changes it.
func event(t *testing.T, change func(*events.APIGatewayV2HTTPRequest)) events.APIGatewayV2HTTPRequest {
	t.Helper()
	raw, err := os.ReadFile("testdata/event.json")
	if err != nil {
		t.Fatal(err)
	}
	var e events.APIGatewayV2HTTPRequest
	if err := json.Unmarshal(raw, &e); err != nil {
		t.Fatal(err)
	}
	change(&e)
	return e
}

func serve(t *testing.T, h http.HandlerFunc, e events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, string) {
	t.Helper()
	var log bytes.Buffer
	out, err := lambdahttp.Serve(h, slog.New(slog.NewJSONHandler(&log, nil)))(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	return out, log.String()
}

func TestRequest(t *testing.T) {
	t.Parallel()
	e := event(t, func(*events.APIGatewayV2HTTPRequest) {})
	out, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		cookie, err := r.Cookie("b")
		if err != nil {
			t.Error(err)
		}
		fmt.Fprintf(w, "%s %s %s %q %s %s %s %s %s %d %s", r.Method, r.URL.EscapedPath(), r.URL.RawQuery, r.URL.Query()["limit"], r.Header.Get("Authorization"),
			cookie.Value, r.Host, r.RemoteAddr, lambdahttp.RequestID(r), r.ContentLength, body)
	}, e)
	want := `POST /company/wiki/a%2Fb%20c.md limit=1&limit=2&x=%20 ["1" "2"] Bearer t 2 api.example.com 203.0.113.7 JKJaXmPLvHcESHA= 7 {"a":1}`
	if out.StatusCode != http.StatusOK || out.Body != want {
		t.Errorf("got  %s\nwant %s", out.Body, want)
	}
}

func TestBase64Body(t *testing.T) {
	t.Parallel()
	raw := []byte{0, 0xff, 'x'}
	e := event(t, func(e *events.APIGatewayV2HTTPRequest) {
		e.IsBase64Encoded, e.Body = true, base64.StdEncoding.EncodeToString(raw)
	})
	out, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got, err := io.ReadAll(r.Body)
		if err != nil || !bytes.Equal(got, raw) {
			t.Errorf("got %v, %v", got, err)
		}
		_, _ = w.Write(got)
	}, e)
	if !out.IsBase64Encoded || out.Body != e.Body {
		t.Errorf("an answer that is no text: %+v", out)
	}
}

func TestAnswer(t *testing.T) {
	t.Parallel()
	e := event(t, func(*events.APIGatewayV2HTTPRequest) {})
	out, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Add("Vary", "A")
		w.Header().Add("Vary", "B")
		http.SetCookie(w, &http.Cookie{Name: "c", Value: "1"})
		http.SetCookie(w, &http.Cookie{Name: "d", Value: "2"})
		w.WriteHeader(http.StatusAccepted)
		w.WriteHeader(http.StatusTeapot)
		w.Header().Set("Late", "x")
		fmt.Fprint(w, "ä")
	}, e)
	if out.StatusCode != http.StatusAccepted || out.Body != "ä" || out.IsBase64Encoded || out.Headers["Vary"] != "A, B" || out.Headers["Late"] != "" ||
		strings.Join(out.Cookies, "|") != "c=1|d=2" || out.Headers["Set-Cookie"] != "" {
		t.Errorf("got %+v", out)
	}
	out, _ = serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		fmt.Fprint(z, "text")
		_ = z.Close()
	}, e)
	raw, err := base64.StdEncoding.DecodeString(out.Body)
	if err != nil || !out.IsBase64Encoded {
		t.Fatalf("a compressed answer: %+v, %v", out, err)
	}
	z, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(z); err != nil || string(text) != "text" {
		t.Errorf("a compressed answer: %q, %v", text, err)
	}
	if out, _ := serve(t, func(http.ResponseWriter, *http.Request) {}, e); out.StatusCode != http.StatusOK || out.Body != "" {
		t.Errorf("no answer at all: %+v", out)
	}
}

func TestPanic(t *testing.T) {
	t.Parallel()
	out, log := serve(t, func(http.ResponseWriter, *http.Request) { panic("the inside") }, event(t, func(*events.APIGatewayV2HTTPRequest) {}))
	if out.StatusCode != http.StatusInternalServerError || strings.Contains(out.Body, "inside") || !strings.Contains(log, "the inside") || !strings.Contains(log, "JKJaXmPLvHcESHA=") {
		t.Errorf("got %+v, log %s", out, log)
	}
}

// TestForeignEvents: an event of another kind, or one made by hand, is no request.
func TestForeignEvents(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*events.APIGatewayV2HTTPRequest){
		"empty":      func(e *events.APIGatewayV2HTTPRequest) { *e = events.APIGatewayV2HTTPRequest{} },
		"a URL":      func(e *events.APIGatewayV2HTTPRequest) { e.RawPath = "http://evil.example/company" },
		"bad escape": func(e *events.APIGatewayV2HTTPRequest) { e.RawPath = "/company/%zz" },
		"bad method": func(e *events.APIGatewayV2HTTPRequest) { e.RequestContext.HTTP.Method = "GE T" },
		"bad base64": func(e *events.APIGatewayV2HTTPRequest) { e.IsBase64Encoded, e.Body = true, "?" },
	} {
		out, _ := serve(t, func(http.ResponseWriter, *http.Request) { t.Errorf("%s reaches the handler", name) }, event(t, change))
		if out.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %d", name, out.StatusCode)
		}
	}
}

// TestIdentity: what an authorizer or a header says about the caller does not reach the handler as an identity.
func TestIdentity(t *testing.T) {
	t.Parallel()
	e := event(t, func(e *events.APIGatewayV2HTTPRequest) {
		delete(e.Headers, "authorization")
		e.RequestContext.Authorizer = &events.APIGatewayV2HTTPRequestContextAuthorizerDescription{
			JWT: &events.APIGatewayV2HTTPRequestContextAuthorizerJWTDescription{Claims: map[string]string{"sub": "mallory"}},
		}
	})
	serve(t, func(_ http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" || r.URL.User != nil {
			t.Errorf("an identity from nowhere: %v", r.Header)
		}
		for name, values := range r.Header {
			if strings.Contains(strings.Join(values, ","), "mallory") {
				t.Errorf("%s names the authorizer's user", name)
			}
		}
	}, e)
}
