// Command 01-quickstart runs the whole story on this machine: a Company with an embedded PostgreSQL, a git repository on
// loopback, sandboxes as processes.
//
//	go run ./cookbook/01-quickstart
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"companyos/cookbook/example"
	"companyos/cookbook/story"
	"companyos/functions/execute/steps"
)

func main() { example.Main("quickstart", run) }

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
