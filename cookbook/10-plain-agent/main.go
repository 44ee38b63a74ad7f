// Command 10-plain-agent runs agents that need no sandbox: a writer whose drafts are revised in one conversation, and a team
// whose leader asks it. Their models are scripts on loopback that speak Anthropic's Messages API; leave out the base URL and
// give COMPANY_SECRET_ANTHROPIC_API_KEY to functions/local, and they are real.
//
//	go run ./cookbook/10-plain-agent
package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"companyos/cookbook/example"
	"companyos/shared/task"
	"companyos/shared/wire"
)

func main() { example.Main("plain-agent", run) }

func run(ctx context.Context, log io.Writer) (err error) {
	o, err := open(ctx, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.close(ctx)) }()
	fmt.Println("The writer drafts, and revises what it remembers:")
	draft, err := o.accepted(ctx, "Announce the release", task.ExecutorAgent, "writer")
	if err != nil {
		return err
	}
	if err := o.attempt(ctx, draft, 1, ""); err != nil {
		return err
	}
	if err := o.attempt(ctx, draft, 2, "Say when."); err != nil {
		return err
	}
	fmt.Printf("  who spoke before the second answer: %q\n", o.talk())
	fmt.Println("The editor's team, all of it one run:")
	team, err := o.accepted(ctx, "Announce it well", task.ExecutorTeam, "press")
	if err != nil {
		return err
	}
	if err := o.attempt(ctx, team, 1, ""); err != nil {
		return err
	}
	fmt.Println("A writer whose budget is too small:")
	poor, err := o.accepted(ctx, "Announce it cheaply", task.ExecutorAgent, "pauper")
	if err != nil {
		return err
	}
	return o.attempt(ctx, poor, 1, "")
}

// attempt starts an attempt, waits for its end and prints it.
func (o *office) attempt(ctx context.Context, taskID string, n int, why string) error {
	in := wire.TaskRunCreate{Attempt: n}
	if why != "" {
		in.Reason = &why
	}
	started, err := o.StartRun(ctx, taskID, in)
	if err != nil {
		return err
	}
	t, err := o.settled(ctx, taskID)
	if err != nil {
		return err
	}
	run, err := o.Run(ctx, started.RunID)
	if err != nil {
		return err
	}
	fmt.Printf("  attempt %d: %s, %s: %s\n", n, run.Ended.Kind, t.Status, t.Result.Content)
	if u := run.Usage; u.CostKnown {
		fmt.Printf("    %d tokens in, %d out, $%.6f\n", u.InputTokens, u.OutputTokens, *u.CostUSD)
	} else {
		fmt.Printf("    %d tokens in; what it cost is not known\n", u.InputTokens)
	}
	return nil
}
