package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"companyos/cookbook/desk"
	"companyos/shared/worker"
)

// serve is the Company that is killed: it says where it is, then does what its standard input says, a line each.
func serve(ctx context.Context, folder string, log io.Writer) error {
	steps := desk.Steps()
	steps["fix"] = func(ctx context.Context, _ worker.StepInput) (string, error) { return fix(ctx, folder) }
	d, err := desk.OpenIn(ctx, folder, steps, log, true) // a restart may not run ahead of the story
	if err != nil {
		return err
	}
	defer d.Close(ctx)
	token, err := d.Company.Token("alice")
	if err != nil {
		return err
	}
	fmt.Println(d.Company.URL, token)
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		switch in.Text() {
		case "tick":
			err = printTick(ctx, d)
		case "hold", "go on":
			d.Company.Work.Hold(in.Text() == "hold")
			fmt.Println("{}")
		case "take none", "take all": // how many runs may wait
			d.Company.App.MaxPending = map[string]int{"take none": 0, "take all": 100}[in.Text()]
			fmt.Println("{}")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func printTick(ctx context.Context, d *desk.Desk) error {
	tick, err := d.Company.App.Tick(ctx)
	if err != nil {
		return err
	}
	line, err := json.Marshal(tick)
	fmt.Println(string(line))
	return err
}

// fix works until the story lets it end, and leaves a mark that it began.
func fix(ctx context.Context, folder string) (string, error) {
	began, err := os.OpenFile(filepath.Join(folder, "began"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return "", err
	}
	defer began.Close()
	if _, err := fmt.Fprintln(began, "x"); err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(folder, "finish")); err == nil {
			return "fixed", nil
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// beginnings counts how often the work was begun.
func beginnings(folder string) int {
	raw, err := os.ReadFile(filepath.Join(folder, "began"))
	if err != nil {
		return 0
	}
	return strings.Count(string(raw), "x")
}
