// Command 04-codex gives a Task to Codex in a sandbox on this machine, and asks for a revision. With OPENAI_API_KEY set
// the provider's model answers, else a scripted one on loopback. Linux only.
//
//	go run ./cookbook/04-codex
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
	a := story.Agent{Harness: "codex", Model: "gpt-5.5", Key: "OPENAI_API_KEY", BaseURL: "OPENAI_BASE_URL"}
	if err := story.RunAgent(ctx, a, os.Stdout, log); err != nil {
		fmt.Fprintln(os.Stderr, "04-codex:", err)
		os.Exit(1)
	}
}
