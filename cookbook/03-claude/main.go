// Command 03-claude gives a Task to Claude Code in a sandbox on this machine, and asks for a revision. With ANTHROPIC_API_KEY set
// the provider's model answers, else a scripted one on loopback. Linux only.
//
//	go run ./cookbook/03-claude
package main

import (
	"context"
	"io"
	"os"

	"companyos/cookbook/example"
	"companyos/cookbook/story"
)

func main() {
	a := story.Agent{Harness: "claude", Model: "claude-sonnet-4-6", Key: "ANTHROPIC_API_KEY", BaseURL: "ANTHROPIC_BASE_URL"}
	example.Main("03-claude", func(ctx context.Context, log io.Writer) error { return story.RunAgent(ctx, a, os.Stdout, log) })
}
