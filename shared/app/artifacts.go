package app

import (
	"context"
	"net/http"
	"regexp"
	"slices"
	"time"

	"companyos/shared/executor"
	"companyos/shared/task"
)

var sha256Hex = regexp.MustCompile(`\A[0-9a-f]{64}\z`)

// Artifact announces an object of the run and answers where to upload it. Announcing it again is no error. KindInvalid for
// an unknown kind, a malformed hash or a size beyond the executor's limit, KindConflict "fenced" for a run that is over,
// KindUnauthorized for a token that does not hold.
func (c *Company) Artifact(ctx context.Context, token, kind, sha string, size int64) (putURL string, err error) {
	tok, err := sessionToken(token)
	if err != nil {
		return "", err
	}
	if !slices.Contains(task.ArtifactKinds(), kind) || !sha256Hex.MatchString(sha) || size < 0 {
		return "", task.Invalidf("artifact_invalid", "Send a kind, a SHA-256 in lower-case hex and a size.", "The artifact is not well described")
	}
	run, err := c.change(ctx, tok.RunID, func(_ context.Context, v *view) (task.Run, error) {
		_, announced := v.run.Announced(kind, sha)
		switch err := session(&v.run, tok, v.now); {
		case err != nil:
			return v.run, err
		case !v.run.Reporting():
			return v.run, errFenced
		case size > c.mostBytes(&v.run, kind):
			return v.run, task.Invalidf("artifact_too_large", "Truncate it, or end the run with output_limit.", "The artifact is larger than its limit")
		case announced:
			return v.run, nil
		}
		return v.run.WithArtifact(task.Artifact{Kind: kind, Key: v.run.ArtifactKey(kind, sha), SHA256: sha, Size: size}), nil
	})
	if err != nil {
		return "", unknownRun(err)
	}
	putURL, err = c.Blobs.Presign(ctx, run.ArtifactKey(kind, sha), http.MethodPut, time.Until(*run.RunUntil))
	if err != nil {
		return "", missingOr(err)
	}
	return putURL, nil
}

// mostBytes bounds an artifact.
func (c *Company) mostBytes(r *task.Run, kind string) int64 {
	if kind == task.ArtifactResult {
		return maxResultFile
	}
	ex, known := c.Executors.Registry().Lookup(r.ExecutorType, r.ExecutorID)
	if !known {
		return executor.SandboxLimits().Output
	}
	return ex.Limits.Output
}
