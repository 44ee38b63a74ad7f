// Command 03-claude gives a Task to Claude Code in a sandbox on this machine, and asks for a revision. With ANTHROPIC_API_KEY set
// the provider's model answers, else a scripted one on loopback. Linux only.
//
//	go run ./cookbook/03-claude
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"companyos/cookbook/story"
	"companyos/shared/agent"
)

func main() {
	agent.Reenter()
	verbose := flag.Bool("v", false, "show the log of the Company")
	flag.Parse()
	log := io.Discard
	if *verbose {
		log = os.Stderr
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	a := story.Agent{Harness: "claude", Model: "claude-sonnet-4-6", Key: "ANTHROPIC_API_KEY", BaseURL: "ANTHROPIC_BASE_URL"}
	if err := story.RunAgent(ctx, a, os.Stdout, log); err != nil {
		fmt.Fprintln(os.Stderr, "03-claude:", err)
		os.Exit(1)
	}
}
