package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// platform is Lambda's runtime API for one environment and one event.
type platform struct {
	event    string
	polled   chan time.Time // each request for an event
	answered chan string
	end      chan struct{}
}

func (p *platform) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case strings.HasSuffix(r.URL.Path, "/invocation/next"):
		first := len(p.answered) == 0
		p.polled <- time.Now()
		if !first {
			<-p.end // there is no second event
			return
		}
		w.Header().Set("Lambda-Runtime-Aws-Request-Id", "1")
		w.Header().Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(time.Now().Add(25*time.Second).UnixMilli(), 10))
		fmt.Fprint(w, p.event)
	default:
		body, _ := io.ReadAll(r.Body)
		p.answered <- r.URL.Path + " " + string(body)
		w.WriteHeader(http.StatusAccepted)
	}
}

// start is one cold start: from the start of the process to its first request for an event, then to its answer.
type start struct {
	toPoll, toAnswer time.Duration
	rss              float64 // MiB, waiting for the second event
	answer           string
}

func coldStart(tb testing.TB, binary, event string, env ...string) (s start) {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	p := &platform{event: event, polled: make(chan time.Time, 2), answered: make(chan string, 1), end: make(chan struct{})}
	server := &http.Server{Handler: p}
	go server.Serve(listener)
	defer server.Close()
	defer close(p.end)
	cmd := exec.Command(binary)
	cmd.Env = append([]string{"AWS_LAMBDA_RUNTIME_API=" + listener.Addr().String(), "AWS_REGION=eu-central-1"}, env...)
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	began := time.Now()
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	polled := <-p.polled
	s.toPoll = polled.Sub(began)
	select {
	case s.answer = <-p.answered:
		s.toAnswer = time.Since(polled)
	case <-time.After(10 * time.Second):
		tb.Fatalf("no answer: %s", &said)
	}
	<-p.polled
	s.rss = rss(tb, cmd.Process.Pid)
	return s
}

func rss(tb testing.TB, pid int) float64 {
	tb.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		tb.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	kib, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
	if err != nil {
		tb.Fatal(err)
	}
	return kib / 1024
}

// build compiles a program as it is deployed.
func build(tb testing.TB, pkg string) string {
	tb.Helper()
	binary := filepath.Join(tb.TempDir(), "bootstrap")
	cmd := exec.Command("go", "build", "-tags", "lambda.norpc", "-ldflags", "-s -w", "-o", binary, pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("%v\n%s", err, out)
	}
	return binary
}

const request = `{"version":"2.0","routeKey":"ANY /company/{proxy+}","rawPath":"/company/products","rawQueryString":"","headers":{"host":"x"},
	"requestContext":{"requestId":"r1","http":{"method":"GET","path":"/company/products","sourceIp":"1.2.3.4"}},"isBase64Encoded":false}`

func settings() []string {
	return []string{
		"COMPANY_DATABASE_URL=postgres://u@127.0.0.1:1/d", "COMPANY_EXECUTORS=testdata/executors.yaml", "COMPANY_ATTEMPTS_QUEUE_URL=https://sqs/a",
		"COMPANY_WORK_QUEUE_URL=https://sqs/w", "COMPANY_ARTIFACTS_BUCKET=b", "COMPANY_SECRETS_PREFIX=company",
		"COMPANY_JWT_HS256_SECRET=a secret of the tests, 32 bytes or more",
	}
}

// BenchmarkColdStart measures the function side by side with one that does nothing. The quickest of all starts counts:
// whatever else the machine does only adds.
func BenchmarkColdStart(b *testing.B) {
	api, hello := build(b, "."), build(b, "./testdata/hello")
	best := map[string]start{}
	keep := func(name string, s start) {
		kept, ok := best[name]
		if !ok {
			kept = s
		}
		kept.toPoll, kept.toAnswer, kept.rss = min(kept.toPoll, s.toPoll), min(kept.toAnswer, s.toAnswer), max(kept.rss, s.rss)
		best[name] = kept
	}
	for b.Loop() {
		keep("hello", coldStart(b, hello, request))
		s := coldStart(b, api, request, settings()...)
		if !strings.Contains(s.answer, `"statusCode":401`) {
			b.Fatalf("it answered %s", s.answer)
		}
		keep("api", s)
	}
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	for name, s := range best {
		b.ReportMetric(ms(s.toPoll), name+"-poll-ms")
		b.ReportMetric(ms(s.toAnswer), name+"-answer-ms")
		b.ReportMetric(s.rss, name+"-rss-MiB")
	}
	b.ReportMetric(float64(best["api"].toPoll)/float64(best["hello"].toPoll), "poll-ratio")
}
