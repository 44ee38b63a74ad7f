package broker_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"companyos/shared/agent/broker"
)

// served is a provider that answers with a stream of about this size, in pieces as a model writes them or in large ones.
func served(b *testing.B, size int) *httptest.Server {
	b.Helper()
	text := "data: " + anthropicText + "\n\n"
	block := []byte(strings.Repeat(text, max(1, min(size, 32<<10)/len(text))))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		stream(w, anthropicStart)
		for sent := 0; sent < size; sent += len(block) {
			_, _ = w.Write(block)
		}
		stream(w, anthropicEnd)
	}))
	b.Cleanup(server.Close)
	return server
}

// ask makes one request and returns when the first byte came and how much came in all.
func ask(b *testing.B, url, token, body string) (first time.Duration, size int64) {
	b.Helper()
	req, err := http.NewRequestWithContext(b.Context(), http.MethodPost, url+"/v1/messages", strings.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	req.Header.Set("X-Api-Key", token)
	begun := time.Now()
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		b.Fatal(err)
	}
	defer res.Body.Close()
	var one [1]byte
	if _, err := io.ReadFull(res.Body, one[:]); err != nil {
		b.Fatal(err)
	}
	first = time.Since(begun)
	size, err = io.Copy(io.Discard, res.Body)
	if err != nil {
		b.Fatal(err)
	}
	return first, size + 1
}

func started(b *testing.B, upstream string) *broker.Broker {
	b.Helper()
	br, err := broker.Start(b.Context(), broker.Config{
		API: broker.Anthropic, Upstream: upstream, Key: key, Model: "m", Price: &broker.Price{Input: 1, Output: 1}, BudgetUSD: 1e6, Spool: b.TempDir(),
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = br.Close() })
	return br
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

// BenchmarkFirstByte is a request of 200 kB, as a conversation has it, to the first byte of its answer: directly and through
// the broker, in turn.
func BenchmarkFirstByte(b *testing.B) {
	provider := served(b, 1000)
	br := started(b, provider.URL)
	body := `{"model":"m","messages":[{"role":"user","content":"` + strings.Repeat("x", 200_000) + `"}]}`
	var direct, through []time.Duration
	for b.Loop() {
		first, _ := ask(b, provider.URL, "x", body)
		direct = append(direct, first)
		first, _ = ask(b, br.URL(), br.Token(), body)
		through = append(through, first)
	}
	b.ReportMetric(float64(median(direct).Microseconds()), "direct-µs")
	b.ReportMetric(float64(median(through).Microseconds()), "broker-µs")
	b.ReportMetric(float64((median(through) - median(direct)).Microseconds()), "added-µs")
}

// BenchmarkStream is an answer of 32 MB, directly and through the broker, in turn.
func BenchmarkStream(b *testing.B) {
	provider := served(b, 32<<20)
	br := started(b, provider.URL)
	var direct, through []time.Duration
	for b.Loop() {
		begun := time.Now()
		_, size := ask(b, provider.URL, "x", `{"model":"m"}`)
		direct = append(direct, time.Since(begun))
		b.SetBytes(size)
		begun = time.Now()
		ask(b, br.URL(), br.Token(), `{"model":"m"}`)
		through = append(through, time.Since(begun))
	}
	b.ReportMetric(float64(32)/median(direct).Seconds(), "direct-MB/s")
	b.ReportMetric(float64(32)/median(through).Seconds(), "broker-MB/s")
	b.ReportMetric(100*median(direct).Seconds()/median(through).Seconds(), "%-of-direct")
}
