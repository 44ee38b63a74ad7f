// Command infra places the company on AWS: `synth` writes the templates (the default, and what the cdk CLI calls),
// `doctor` looks for what a deployment would miss, `cost` prints what it costs while idle and per attempt.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"

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
	command, err := only(rest)
	if err != nil {
		return err
	}
	if command == "doctor" {
		return examine(ctx, root, values)
	}
	if err := node(); err != nil {
		return err
	}
	if command == "cost" {
		return cost(os.Stdout, root, values)
	}
	return synth(ctx, root, values)
}

// only is the one argument beside the settings. What else stands there was meant as something, so it is not passed over.
func only(args []string) (command string, err error) {
	for _, arg := range args {
		switch {
		case strings.Contains(arg, "="):
			return "", fmt.Errorf("%q is no command; a setting is given as -c %s", arg, arg)
		case arg != "synth" && arg != "doctor" && arg != "cost":
			return "", fmt.Errorf("%q is no command; they are synth, doctor and cost, each with settings as -c key=value", arg)
		case command != "":
			return "", fmt.Errorf("%q is one command too many after %q", arg, command)
		}
		command = arg
	}
	return command, nil
}

// node looks for what the CDK's constructs run in. They work on Node.js 20 too, whose end they announce in ten lines
// unless the environment that this program started with says otherwise; so it starts anew with one that does.
func node() error {
	if _, err := exec.LookPath("node"); err != nil {
		return errors.New("there is no node in the PATH, in which the CDK's constructs run; install Node.js from version 22 on")
	}
	const silence = "JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION"
	if _, set := os.LookupEnv(silence); set {
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	//nolint:gosec // this program itself, with the arguments that it was given
	return syscall.Exec(self, os.Args, append(os.Environ(), silence+"=20"))
}
