// Command 09-emulator deploys the Company's real stacks on an emulator of AWS on this machine and runs the quickstart's
// story through the deployed API. Start it with run.sh, which installs what it needs.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// tools are the programs that run.sh installs.
type tools struct {
	ministack string // the emulator
	cdk       string // the CDK's command
	infra     string // this repository's infra/, built
	image     string // the sandbox's image in this machine's engine
	bridge    string // this machine's address as containers see it, given as its interface
	hold      bool   // leave it running until a signal
	recorder  string // zip of events/record: write the events of all triggers to events
	events    string
}

func main() {
	var t tools
	flag.StringVar(&t.ministack, "ministack", "ministack", "the emulator's program")
	flag.StringVar(&t.cdk, "cdk", "cdk", "the CDK's command")
	flag.StringVar(&t.infra, "infra", "", "the program of infra/")
	flag.StringVar(&t.image, "image", "", "the sandbox's image")
	flag.StringVar(&t.bridge, "bridge", "docker0", "network interface of the container engine, by whose address containers reach this machine")
	flag.BoolVar(&t.hold, "hold", false, "deploy, print how to reach it and wait for an interrupt instead of telling the story")
	flag.StringVar(&t.recorder, "recorder", "", "zip of events/record; with it, every trigger's event is written to -events instead")
	flag.StringVar(&t.events, "events", "events", "folder of the events")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, t); err != nil {
		fmt.Fprintln(os.Stderr, "emulator:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, t tools) (err error) {
	address, err := addressOf(t.bridge)
	if err != nil {
		return err
	}
	t.bridge = address
	p, err := settle(ctx, t)
	defer func() { err = errors.Join(err, p.close(context.WithoutCancel(ctx))) }()
	if err != nil {
		return err
	}
	if err := p.deploy(ctx); err != nil {
		return err
	}
	switch {
	case t.recorder != "":
		return p.record(ctx, t.recorder, t.events)
	case t.hold:
		return p.wait(ctx)
	}
	return p.tell(ctx)
}
