package app

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"

	"companyos/shared/sandbox"
	"companyos/shared/task"
)

// newSecret returns 256 random bits as a token holds them.
func newSecret() string {
	b := make([]byte, 32)
	rand.Read(b) // never fails: it ends the process instead
	return base64.RawURLEncoding.EncodeToString(b)
}

// recall calls for the sandbox of a launch again, unless another call of it is in flight.
func (c *Company) recall(ctx context.Context, seen *task.Run) (done bool, err error) {
	began := false
	run, err := c.change(ctx, seen.ID, func(_ context.Context, v *view) (run task.Run, _ error) {
		run, began = task.BeginCall(v.run, seen.Launch, c.DispatchTimeout, v.now)
		return run, nil
	})
	if err != nil || !began {
		return !began, err
	}
	return true, c.launch(ctx, &run)
}

// launch makes the one call of a launch that is in flight, and records what came of it. It happens after the COMMIT that
// began the call, with what is stored, so that a repeat sends the same bytes.
func (c *Company) launch(ctx context.Context, run *task.Run) error {
	ex, known := c.Executors.Registry().Lookup(run.ExecutorType, run.ExecutorID)
	if !known || ex.Sandbox == nil {
		return c.endCall(ctx, run, "", errors.New("the executor is not in the registry any more"))
	}
	// The call may not outlive the time in which nobody else makes it.
	calling, cancel := context.WithTimeout(ctx, c.DispatchTimeout*9/10)
	defer cancel()
	handle, err := c.Sandboxes.Start(calling, sandbox.Spec{
		RunID: run.ID, Launch: run.Launch, Token: run.LaunchToken, APIURL: c.PublicURL,
		CPU: ex.Sandbox.CPU, Memory: ex.Sandbox.Memory, Disk: ex.Sandbox.Disk, Harness: string(ex.Harness),
	})
	return c.endCall(ctx, run, handle, err)
}

// endCall records the outcome of a call. A sandbox that nobody wants is stopped.
func (c *Company) endCall(ctx context.Context, run *task.Run, handle string, callErr error) error {
	outcome, launch := sandbox.OutcomeOf(callErr), run.Launch
	if callErr != nil {
		c.Log.WarnContext(ctx, "a sandbox was not started", "run_id", run.ID, "launch", launch, "outcome", outcome, "error", callErr)
	}
	stop, secret := false, newSecret()
	_, err := c.change(ctx, run.ID, func(_ context.Context, v *view) (after task.Run, _ error) {
		switch after = v.run; outcome {
		case sandbox.OutcomeStarted:
			after, stop = task.Called(v.run, launch, handle, v.now)
		case sandbox.OutcomeFailed:
			after, _ = task.CallFailed(v.run, launch, sandbox.EndKindOf(callErr), secret, v.now)
		case sandbox.OutcomeThrottled, sandbox.OutcomeUnknown:
			after, _ = task.CallUnsettled(v.run, launch, outcome == sandbox.OutcomeThrottled, v.now)
		}
		return after, nil
	})
	if err == nil && stop {
		c.stop(ctx, run.ID, handle)
	}
	return err
}
