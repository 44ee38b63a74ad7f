package main

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"companyos/shared/app/apptest"
	"companyos/shared/config"
	"companyos/shared/executor"
	"companyos/shared/task"
)

// The example workflow, twice delivered, beside a message that is none.
func TestAWorkflowThroughTheFunction(t *testing.T) {
	t.Parallel()
	b := apptest.New(t, 2)
	registry, err := executor.NewRegistry([]executor.Harness{executor.HarnessWorkflow},
		executor.Executor{Kind: task.ExecutorWorkflow, ID: "release-notes", Steps: []string{"collect", "write"}})
	if err != nil {
		t.Fatal(err)
	}
	b.Executors.Replace(registry)
	tk := b.NewTask(task.ExecutorWorkflow, "release-notes")
	run := b.Start(tk.ID, 1)
	wake := `{"v":1,"run":"` + run + `"}`
	event := events.SQSEvent{Records: []events.SQSMessage{{MessageId: "a", Body: wake}, {MessageId: "b", Body: "poison"}, {MessageId: "c", Body: wake}}}
	work, err := newWorker(config.Execute{})
	if err != nil {
		t.Fatal(err)
	}
	answer := handle(t.Context(), b.Company, work, slog.New(slog.DiscardHandler), event)
	if len(answer.BatchItemFailures) != 1 || answer.BatchItemFailures[0].ItemIdentifier != "b" {
		t.Errorf("failed: %+v", answer.BatchItemFailures)
	}
	got := b.RunNow(run)
	if want := "Notes on attempt 1\n\nBrief: Answer with the first line of the README.\nPage: "; got.State != task.StateCompleted || !strings.HasPrefix(got.Content, want) || b.TaskNow(tk.ID).Status != task.StatusInReview {
		t.Errorf("run %s %q, Task %s", got.State, got.Content, b.TaskNow(tk.ID).Status)
	}
	b.Pass(time.Hour)
	b.Check()
}
