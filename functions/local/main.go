// Command local runs a whole Company on this machine, without AWS.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"companyos/functions/execute/steps"
	"companyos/functions/sweep/checks"
	"companyos/shared/agent"
	"companyos/shared/config"
	"companyos/shared/local"
	"companyos/shared/model/messages"
	"companyos/shared/source/gitless"
	"companyos/shared/worker"
)

func main() {
	agent.Reenter()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "local:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	c, err := config.ReadLocal(args)
	if err != nil {
		return err
	}
	models := &messages.Provider{BaseURL: c.AnthropicBaseURL}
	if err := models.Check(); err != nil {
		return fmt.Errorf("anthropic-base-url: %w", err)
	}
	return local.Serve(ctx, c, local.Parts{
		Work: worker.Worker{Steps: steps.Registered(), Models: models}, Checks: checks.Registered(), Library: gitless.Read,
	}, os.Stdout)
}
