// Command contract serves a Company for a client that replays recorded exchanges against it: a fresh database, fixed
// executors and users, doubles for the sandboxes, and control routes below /__control__ that no Company has.
//
//	go run ./cookbook/contract -addr 127.0.0.1:9000
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"companyos/shared/api"
	"companyos/shared/executor"
	"companyos/shared/local"
	"companyos/shared/queue"
)

// secret signs the tokens of the replayed exchanges.
const secret = "replay-secret-replay-secret-replay-secret-0123456789"

func main() {
	addr := flag.String("addr", "127.0.0.1:9000", "address to listen on")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *addr); err != nil {
		fmt.Fprintln(os.Stderr, "contract:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, addr string) error {
	folder, err := os.MkdirTemp("", "company-contract-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	// The one secret that a recorded executor has.
	if err := os.Setenv("COMPANY_SECRET_"+executor.SecretGitHubToken, "not-a-real-token"); err != nil {
		return err
	}
	registry, err := doubles()
	if err != nil {
		return err
	}
	source := executor.Static(registry)
	var sandboxes *double
	c, err := local.Start(ctx, local.Config{
		Addr: "127.0.0.1:0", Data: folder, Executors: source, Runner: (&plainDouble{}).run, Auth: api.AuthConfig{HS256Secret: secret, Audience: "company"},
		Sandboxes: func(p local.Paths) (local.Launcher, error) {
			sandboxes = newDouble(p)
			return sandboxes, nil
		},
		Automation: automation(), Sources: os.TempDir(), MaxSandboxes: 8, MaxPending: 1000, Attempts: queue.LocalConfig{}, Work: queue.LocalConfig{},
		Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		return err
	}
	defer func() { _ = c.Close(ctx) }()
	behind, err := url.Parse(c.URL)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	(&control{company: c, executors: source, registry: registry, sandboxes: sandboxes}).routes(mux)
	company := httputil.NewSingleHostReverseProxy(behind)
	// Only these routes go through the mux, which would clean the paths of the others.
	all := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/__control__/") || r.URL.Path == "/schedules" {
			mux.ServeHTTP(w, r)
			return
		}
		company.ServeHTTP(w, r)
	})
	server := &http.Server{Handler: all, ReadHeaderTimeout: 10 * time.Second}
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	fmt.Println("http://" + listener.Addr().String())
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	if err := server.Serve(listener); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}
