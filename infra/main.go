// Command infra places the company on AWS: `synth` writes the templates (the default, and what the cdk CLI calls),
// `doctor` looks for what a deployment would miss, `cost` prints what it costs while idle and per attempt.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/aws/jsii-runtime-go"

	"companyos/infra/setting"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	jsii.Close()
	if err != nil {
		fmt.Fprintln(os.Stderr, "infra:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	root, err := findRoot()
	if err != nil {
		return err
	}
	values, rest, err := setting.Values(root, args)
	if err != nil {
		return err
	}
	command := "synth"
	if len(rest) > 0 {
		command = rest[0]
	}
	switch command {
	case "synth":
		return synth(ctx, root, values)
	case "doctor":
		return examine(ctx, root, values)
	case "cost":
		return cost(root, values)
	}
	return fmt.Errorf("%q is no command; they are synth, doctor and cost", command)
}
