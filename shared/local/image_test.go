//go:build docker

package local_test

import (
	"os"
	"testing"
	"time"

	"companyos/shared/task"
	"companyos/shared/wire"
)

// TestImage runs an attempt in a container of this machine's engine instead of a process.
func TestImage(t *testing.T) {
	t.Parallel()
	image := os.Getenv("COMPANY_TEST_IMAGE")
	if image == "" {
		t.Fatal("COMPANY_TEST_IMAGE names no image; infra/image.sh build --debootstrap prints one")
	}
	p := newProgram(t, `{turns: [{steps: [{answer_first_line: README.md}]}]}`, "-image", image)
	accepted := p.accepted()
	must(p.client.StartRun(t.Context(), accepted.ID, wire.TaskRunCreate{Attempt: 1}))(t)
	got := p.settled(accepted.ID)
	if got.Status != task.StatusInReview || got.Result.Content != "Hello" {
		t.Errorf("status %s, result %+v", got.Status, got.Result)
	}
	p.until("the run to say which image it used", time.Minute, func() bool {
		run := must(p.client.Run(t.Context(), *got.JobID))(t)
		return run.Sandbox != nil && run.Sandbox.Image != ""
	})
}
