// Command 06-recovery kills a Company at each point of an automatic attempt and starts it again after the policy that
// allowed it was taken away: what was reserved is settled first, and nothing new is begun.
//
//	go run ./cookbook/06-recovery
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	work := story
	if len(os.Args) == 3 && os.Args[1] == "serve" {
		work = func(ctx context.Context) error { return serve(ctx, os.Args[2]) }
	}
	if err := work(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "recovery:", err)
		os.Exit(1)
	}
}
