// Package steps is where a team registers the steps of its workflows: Go functions that executors.yaml names.
package steps

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"companyos/shared/worker"
)

// Registered are the steps that executors.yaml may name. Add yours here.
func Registered() worker.Steps {
	return worker.Steps{
		"collect": collect,
		"write":   write,
	}
}

// collect lists what the Task brings along: its brief and the pages of the playbook.
func collect(_ context.Context, in worker.StepInput) (string, error) {
	var input struct {
		Brief *string `json:"brief"`
		Wiki  []struct {
			Namespace string `json:"namespace"`
			Path      string `json:"path"`
		} `json:"wiki"`
	}
	if err := json.Unmarshal(in.Input, &input); err != nil {
		return "", fmt.Errorf("the input of the run is not readable: %w", err)
	}
	var b strings.Builder
	if input.Brief != nil {
		fmt.Fprintf(&b, "Brief: %s\n", *input.Brief)
	}
	for _, page := range input.Wiki {
		fmt.Fprintf(&b, "Page: %s/%s\n", page.Namespace, page.Path)
	}
	return b.String(), nil
}

// write makes a note of what the step before collected.
func write(_ context.Context, in worker.StepInput) (string, error) {
	return fmt.Sprintf("Notes on attempt %d\n\n%s", in.Attempt, in.Previous), nil
}
