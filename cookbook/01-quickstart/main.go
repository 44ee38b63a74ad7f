// Command 01-quickstart runs the whole story on this machine: a Company with an embedded PostgreSQL, a git repository on
// loopback, sandboxes as processes.
//
//	go run ./cookbook/01-quickstart
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"companyos/cookbook/story"
	"companyos/functions/execute/steps"
	"companyos/shared/agent"
)

func main() {
	agent.Reenter()
	verbose := flag.Bool("v", false, "show the log of the Company")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	log := io.Discard
	if *verbose {
		log = os.Stderr
	}
	if err := run(ctx, log); err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, log io.Writer) (err error) {
	fmt.Println("Starting a Company on this machine; the first time, PostgreSQL is downloaded (15 MB).")
	executors := func(repository string) string { return story.Executors(repository, story.Branch) }
	place, err := story.Settle(ctx, executors, steps.Registered(), log)
	if err != nil {
		return err
	}
	defer func() {
		if closed := place.Close(ctx); err == nil {
			err = closed
		}
	}()
	alice, err := place.Client("alice")
	if err != nil {
		return err
	}
	return story.Tell(ctx, story.Env{
		Client: alice, Repository: place.Repository.URL, Advance: place.Advance, Forge: place.Forger.Forge, Out: os.Stdout, Patience: time.Minute,
	})
}
