package app

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"time"

	"companyos/shared/blob"
	"companyos/shared/task"
)

// Output is a stored object of a run, to be read.
type Output struct {
	task.Artifact
	Body io.ReadCloser
}

// RunOutput opens the newest uploaded object of a kind. It is there before the run has ended: a sandbox saves its changes
// while it works. KindNotFound for an unknown run, and for one without such an object.
func (c *Company) RunOutput(ctx context.Context, runID, kind string) (Output, error) {
	run, err := c.DB.Run(ctx, runID)
	if err != nil {
		return Output{}, err
	}
	for _, a := range slices.Backward(run.Artifacts) {
		if a.Kind != kind {
			continue
		}
		body, _, err := c.Blobs.Get(ctx, a.Key)
		if errors.Is(err, blob.ErrNotFound) {
			continue // announced, and not uploaded
		}
		if err != nil {
			return Output{}, missingOr(err)
		}
		return Output{a, body}, nil
	}
	return Output{}, &task.Error{
		Kind: task.KindNotFound, Code: "run_" + kind + "_missing", Detail: "The run has no " + kind,
		Remedy: "Look at the run: it may have changed nothing, not have come so far, or be older than what is kept.",
	}
}

// OutputURL is an address at which an object can be read for a few minutes, for one that is too large for an answer.
func (c *Company) OutputURL(ctx context.Context, o Output) (string, error) {
	url, err := c.Blobs.Presign(ctx, o.Key, http.MethodGet, 5*time.Minute)
	if err != nil {
		return "", missingOr(err)
	}
	return url, nil
}
