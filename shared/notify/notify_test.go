package notify_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"testing"
	"time"

	"companyos/shared/app"
	"companyos/shared/notify"
	"companyos/shared/publicnet"
)

// receiver answers with the statuses of a script and keeps what it got.
type receiver struct {
	*httptest.Server
	mu       sync.Mutex
	statuses []int
	header   http.Header
	requests []*http.Request
	bodies   []string
}

func newReceiver(t *testing.T, statuses ...int) *receiver {
	t.Helper()
	r := &receiver{statuses: statuses, header: http.Header{}}
	r.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.mu.Lock()
		defer r.mu.Unlock()
		body, err := io.ReadAll(req.Body)
		if err != nil {
			t.Error(err)
		}
		r.requests, r.bodies = append(r.requests, req), append(r.bodies, string(body))
		for k, v := range r.header {
			w.Header()[k] = v
		}
		w.WriteHeader(r.statuses[min(len(r.requests), len(r.statuses))-1])
	}))
	t.Cleanup(r.Close)
	return r
}

// guard lets the receiver's loopback address pass as if it were public.
func (r *receiver) guard() notify.Guard {
	return notify.Guard{Dialer: publicnet.Dialer{Allowed: func(netip.Addr) bool { return true }}, TLS: r.Client().Transport.(*http.Transport)}
}

var fast = notify.Retry{Tries: 4, Pause: time.Millisecond, Longest: 20 * time.Millisecond}

func message(to string) app.Message {
	return app.Message{ID: "run-1", Destination: to, ProductID: "p", Title: "Widget: summary", Text: "All is well.", At: time.Unix(1700000000, 0)}
}

func secrets(s ...string) func(context.Context) ([]string, error) {
	return func(context.Context) ([]string, error) { return s, nil }
}

func TestWebhookIsSignedAndRepeated(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, 503, 429, 200)
	r.header.Set("Retry-After", "1") // longer than may be asked for here
	now := time.Unix(1700000100, 0)
	w := notify.NewWebhook(notify.Webhook{Secrets: secrets("new", "old"), Guard: r.guard(), Retry: fast, Now: func() time.Time { return now }})
	if err := w.Deliver(t.Context(), message(r.URL+"/hook")); err != nil {
		t.Fatal(err)
	}
	if len(r.requests) != 3 {
		t.Fatalf("%d tries", len(r.requests))
	}
	for i, req := range r.requests {
		if req.Header.Get(notify.HeaderDelivery) != "run-1" || req.Method != http.MethodPost || req.URL.Path != "/hook" {
			t.Errorf("try %d: %s %v", i, req.URL, req.Header)
		}
		for _, secret := range []string{"new", "old"} {
			if err := notify.Verify(secret, req.Header.Get(notify.HeaderSignature), []byte(r.bodies[i]), now.Add(time.Minute), 5*time.Minute); err != nil {
				t.Errorf("try %d with %s: %v", i, secret, err)
			}
		}
	}
	var body map[string]any
	if err := json.Unmarshal([]byte(r.bodies[0]), &body); err != nil || body["text"] != "All is well." || body["at"] != float64(1700000000) {
		t.Errorf("%v %v", body, err)
	}
}

func TestVerifyRefuses(t *testing.T) {
	t.Parallel()
	now, body := time.Unix(1700000000, 0), []byte(`{"id":"1"}`)
	good := notify.Sign([]string{"s"}, body, now)
	for name, c := range map[string]struct {
		secret, signature, body string
		now                     time.Time
	}{
		"another secret": {"x", good, string(body), now},
		"another body":   {"s", good, `{"id":"2"}`, now},
		"too old":        {"s", good, string(body), now.Add(6 * time.Minute)},
		"ahead of time":  {"s", good, string(body), now.Add(-6 * time.Minute)},
		"another time":   {"s", "t=1700000001" + good[len("t=1700000000"):], string(body), now},
		"nothing":        {"s", "", string(body), now},
		"no signature":   {"s", "t=1700000000", string(body), now},
		"not hex":        {"s", "t=1700000000,v1=zz", string(body), now},
	} {
		if err := notify.Verify(c.secret, c.signature, []byte(c.body), c.now, 5*time.Minute); !errors.Is(err, notify.ErrSignature) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestWhatIsNotRepeated: a refusal is one, and a redirect leads nowhere.
func TestWhatIsNotRepeated(t *testing.T) {
	t.Parallel()
	for _, status := range []int{301, 302, 307, 400, 401, 404, 410} {
		r := newReceiver(t, status)
		r.header.Set("Location", "https://169.254.169.254/latest/meta-data")
		w := notify.NewWebhook(notify.Webhook{Secrets: secrets("s"), Guard: r.guard(), Retry: fast})
		if err := w.Deliver(t.Context(), message(r.URL)); err == nil || len(r.requests) != 1 {
			t.Errorf("%d: %v after %d tries", status, err, len(r.requests))
		}
	}
	r := newReceiver(t, 500)
	w := notify.NewWebhook(notify.Webhook{Secrets: secrets("s"), Guard: r.guard(), Retry: fast})
	if err := w.Deliver(t.Context(), message(r.URL)); err == nil || len(r.requests) != 4 {
		t.Errorf("500: %v after %d tries", err, len(r.requests))
	}
	if err := notify.NewWebhook(notify.Webhook{Secrets: secrets(), Guard: r.guard()}).Deliver(t.Context(), message(r.URL)); err == nil {
		t.Error("delivered without a signature")
	}
}

// TestGuard: where no message may go, whatever the name says first.
func TestGuard(t *testing.T) {
	t.Parallel()
	dialled := 0
	guard := notify.Guard{Dialer: publicnet.Dialer{
		Resolve: func(_ context.Context, host string) ([]netip.Addr, error) {
			switch host {
			case "inside.example":
				return []netip.Addr{netip.MustParseAddr("10.0.0.7")}, nil
			case "both.example":
				return []netip.Addr{netip.MustParseAddr("93.184.216.34"), netip.MustParseAddr("127.0.0.1")}, nil
			case "metadata.example":
				return []netip.Addr{netip.MustParseAddr("169.254.169.254")}, nil
			case "mapped.example":
				return []netip.Addr{netip.MustParseAddr("::ffff:127.0.0.1")}, nil
			case "nowhere.example":
				return nil, nil
			}
			return []netip.Addr{netip.MustParseAddr("93.184.216.34")}, nil
		},
		Dial: func(context.Context, string, string) (net.Conn, error) {
			dialled++
			return nil, errors.New("not in a test")
		},
	}}
	w := notify.NewWebhook(notify.Webhook{Secrets: secrets("s"), Guard: guard, Retry: notify.Retry{Tries: 1}})
	for _, url := range []string{
		"http://hooks.example/x", "ftp://hooks.example", "https://", "https://user:secret@hooks.example/", "https://hooks.example/#x", "file:///etc/passwd", "%",
		"https://127.0.0.1/", "https://[::1]/", "https://10.1.2.3/", "https://169.254.169.254/", "https://[::ffff:10.0.0.1]/", "https://0.0.0.0/",
		"https://inside.example/", "https://both.example/", "https://metadata.example/", "https://mapped.example/", "https://nowhere.example/",
	} {
		if err := w.Deliver(t.Context(), message(url)); !errors.Is(err, notify.ErrAddress) {
			t.Errorf("%s: %v", url, err)
		}
	}
	if dialled != 0 {
		t.Errorf("dialled %d times", dialled)
	}
	if err := w.Deliver(t.Context(), message("https://hooks.example/")); err == nil || errors.Is(err, notify.ErrAddress) || dialled != 1 {
		t.Errorf("a public one: %v, dialled %d times", err, dialled)
	}
}

func TestSlack(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, 200)
	s := notify.NewSlack(notify.Slack{URL: func(context.Context) (string, error) { return r.URL + "/services/T/B/x", nil }, Guard: r.guard(), Retry: fast})
	if err := s.Deliver(t.Context(), message("#team")); err != nil {
		t.Fatal(err)
	}
	if want := `{"channel":"#team","text":"*Widget: summary*\n\nAll is well."}`; r.bodies[0] != want {
		t.Errorf("got %s", r.bodies[0])
	}
	s = notify.NewSlack(notify.Slack{URL: func(context.Context) (string, error) { return "http://inside/", nil }})
	if err := s.Deliver(t.Context(), message("#team")); !errors.Is(err, notify.ErrAddress) {
		t.Error(err)
	}
}
