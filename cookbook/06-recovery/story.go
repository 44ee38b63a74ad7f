package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"companyos/cookbook/desk"
	"companyos/shared/app"
	"companyos/shared/task"
	"companyos/shared/wire"
)

// office is the Company's process, and what the story knows of it.
type office struct {
	*wire.Client
	folder  string
	process *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	task    string
	routine string
}

// points are where the process is killed, and how it gets there.
var points = []struct {
	name  string
	reach func(ctx context.Context, o *office) error
}{
	{"after the acceptance, before anything is reserved", func(ctx context.Context, o *office) error {
		return errors.Join(o.say("take none"), o.tick(ctx, task.StatusReady))
	}},
	{"after the reservation, before anybody works on it", func(ctx context.Context, o *office) error {
		return o.tick(ctx, task.StatusInProgress)
	}},
	{"while somebody works on it", func(ctx context.Context, o *office) error {
		if err := errors.Join(o.tick(ctx, task.StatusInProgress), o.say("go on")); err != nil {
			return err
		}
		return desk.Until(ctx, func() (bool, error) { return beginnings(o.folder) == 1, nil })
	}},
	{"after the work", func(ctx context.Context, o *office) error {
		if err := os.WriteFile(filepath.Join(o.folder, "finish"), nil, 0o600); err != nil {
			return err
		}
		if err := errors.Join(o.tick(ctx, task.StatusInProgress), o.say("go on")); err != nil {
			return err
		}
		return o.until(ctx, task.StatusInReview)
	}},
}

func story(ctx context.Context) error {
	for _, p := range points {
		fmt.Println("killed", p.name+":")
		if err := tell(ctx, p.reach); err != nil {
			return err
		}
	}
	return nil
}

func tell(ctx context.Context, reach func(context.Context, *office) error) (err error) {
	folder, err := os.MkdirTemp("", "company-example-")
	if err != nil {
		return err
	}
	o := &office{folder: folder}
	defer func() { err = errors.Join(err, o.end(), os.RemoveAll(folder)) }()
	if err := o.open(ctx); err != nil {
		return err
	}
	if err := o.propose(ctx); err != nil {
		return err
	}
	if err := reach(ctx, o); err != nil {
		return err
	}
	if err := o.kill(); err != nil {
		return err
	}
	if err := o.open(ctx); err != nil {
		return err
	}
	off := wire.Some(wire.FalseOr[wire.AutoAcceptRule]{})
	if _, err := o.UpdateRoutine(ctx, o.routine, wire.RoutineUpdate{AutoAccept: off}); err != nil {
		return err
	}
	return o.show(ctx)
}

// show ticks twice, lets the workers go on, and tells what there is then.
func (o *office) show(ctx context.Context) error {
	for range 2 {
		tick, err := o.ask("tick")
		if err != nil {
			return err
		}
		var got app.Tick
		if err := json.Unmarshal(tick, &got); err != nil {
			return err
		}
		fmt.Print("  tick: ", got.Status)
		for _, t := range got.Tasks {
			fmt.Print(", ", t.Status, " ", t.Reason, t.Action)
		}
		fmt.Println()
	}
	if err := o.say("go on"); err != nil {
		return err
	}
	t, err := o.Task(ctx, o.task)
	if err == nil && t.Status == task.StatusInProgress {
		err = desk.Until(ctx, func() (bool, error) {
			t, err = o.Task(ctx, o.task)
			return t.Result != nil, err
		})
	}
	if err != nil {
		return err
	}
	runs, err := o.Runs(ctx, o.task, wire.List{})
	if err != nil {
		return err
	}
	fmt.Printf("  Task: %s, runs: %d, work begun: %d", t.Status, runs.Meta.TotalCount, beginnings(o.folder))
	if t.Result != nil {
		fmt.Printf(", result: %s %s", t.Result.Status, t.Result.Content)
	}
	fmt.Println()
	return nil
}

// propose makes a Product with a Routine that may accept one proposal, and lets it propose one.
func (o *office) propose(ctx context.Context) error {
	if err := os.WriteFile(filepath.Join(o.folder, "notes", "login.md"), []byte("The login fails.\n"), 0o600); err != nil {
		return err
	}
	d := &desk.Desk{Client: o.Client, Notes: filepath.Join(o.folder, "notes")}
	if err := d.Furnish(ctx); err != nil {
		return err
	}
	r, err := d.Routine(ctx, "intake", "intake", "scanner", desk.Rule(1))
	if err != nil {
		return err
	}
	o.routine = r.ID
	if _, err := o.TriggerRoutine(ctx, r.ID); err != nil {
		return err
	}
	if err := o.say("go on"); err != nil {
		return err
	}
	err = desk.Until(ctx, func() (bool, error) {
		r, err := o.Routine(ctx, r.ID)
		return r.LastRun.Status != "running", err
	})
	if err != nil {
		return err
	}
	proposals, err := o.Tasks(ctx, wire.List{ProductID: d.ProductID})
	if err != nil || len(proposals.Data) != 1 {
		return errors.Join(err, fmt.Errorf("%d proposals", len(proposals.Data)))
	}
	o.task = proposals.Data[0].ID
	return o.say("hold")
}

// open starts the process and learns where it is.
func (o *office) open(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	o.process = exec.CommandContext(ctx, self, "serve", o.folder)
	o.process.Stderr = os.Stderr
	if o.in, err = o.process.StdinPipe(); err != nil {
		return err
	}
	out, err := o.process.StdoutPipe()
	if err != nil {
		return err
	}
	if err := o.process.Start(); err != nil {
		return err
	}
	o.out = bufio.NewReader(out)
	var url, token string
	if _, err := fmt.Fscanln(o.out, &url, &token); err != nil {
		return err
	}
	o.Client = wire.NewClient(url, token, nil)
	return nil
}

func (o *office) ask(command string) ([]byte, error) {
	if _, err := fmt.Fprintln(o.in, command); err != nil {
		return nil, err
	}
	return o.out.ReadBytes('\n')
}

func (o *office) say(command string) error {
	_, err := o.ask(command)
	return err
}

// tick ticks and expects the Task's status then.
func (o *office) tick(ctx context.Context, want task.Status) error {
	if err := o.say("tick"); err != nil {
		return err
	}
	return o.until(ctx, want)
}

func (o *office) until(ctx context.Context, want task.Status) error {
	return desk.Until(ctx, func() (bool, error) {
		t, err := o.Task(ctx, o.task)
		return t.Status == want, err
	})
}

// kill ends the process as a power cut does.
func (o *office) kill() error {
	if err := o.process.Process.Kill(); err != nil {
		return err
	}
	_ = o.process.Wait() // says that it was killed
	return nil
}

// end lets the process end by itself.
func (o *office) end() error {
	if o.in == nil || o.process.ProcessState != nil {
		return nil
	}
	_ = o.in.Close()
	return o.process.Wait()
}
