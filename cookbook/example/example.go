// Package example is what the programs of the cookbook have in common as programs.
package example

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"companyos/shared/agent"
)

// Main runs an example until it is through or interrupted. log takes the log of its Company, which -v shows.
func Main(name string, run func(ctx context.Context, log io.Writer) error) {
	agent.Reenter()
	verbose := flag.Bool("v", false, "show the log of the Company")
	flag.Parse()
	log := io.Discard
	if *verbose {
		log = os.Stderr
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, log); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}
