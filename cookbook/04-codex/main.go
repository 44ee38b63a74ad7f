// Command 04-codex gives a Task to Codex in a sandbox on this machine, and asks for a revision. With OPENAI_API_KEY set
// the provider's model answers, else a scripted one on loopback. Linux only.
//
//	go run ./cookbook/04-codex
package main

import (
	"context"
	"io"
	"os"

	"companyos/cookbook/example"
	"companyos/cookbook/story"
)

func main() {
	a := story.Agent{Harness: "codex", Model: "gpt-5.5", Key: "OPENAI_API_KEY", BaseURL: "OPENAI_BASE_URL"}
	example.Main("04-codex", func(ctx context.Context, log io.Writer) error { return story.RunAgent(ctx, a, os.Stdout, log) })
}
