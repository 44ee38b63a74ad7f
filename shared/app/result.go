package app

import (
	"context"

	"companyos/shared/task"
)

// Result takes the report of a run's end, by the hash of an uploaded result.json, and settles the run and its Task. The
// same report again gets the same answer; a run that is being cancelled keeps the result as evidence. KindConflict
// "artifact_missing" for a result, or something that it names, that was not uploaded; "fenced" for a run that is over
// otherwise; KindUnauthorized for a token that does not hold.
func (c *Company) Result(ctx context.Context, token, sha string) error {
	seen, tok, err := c.sessionRun(ctx, token)
	if err != nil {
		return err
	}
	if seen.ResultSHA256 == sha && sha != "" {
		return nil
	}
	if !seen.Reporting() {
		return errFenced
	}
	announced, ok := seen.Announced(task.ArtifactResult, sha)
	if !ok {
		return errArtifactMissing
	}
	found, err := c.readResult(ctx, &seen, announced)
	if err != nil {
		return err
	}
	_, err = c.change(ctx, tok.RunID, func(ctx context.Context, v *view) (task.Run, error) {
		if err := session(&v.run, tok, v.now); err != nil {
			return v.run, err
		}
		t, err := v.task(ctx)
		if err != nil {
			return v.run, err
		}
		source, err := v.source(ctx)
		if err != nil {
			return v.run, err
		}
		run := v.run
		if run.Reporting() {
			run = run.WithResult(found.artifacts)
		}
		_, after, answer := task.Report(*t, run, found.outcome, source, v.now)
		if answer == task.AnswerFenced {
			return v.run, errFenced
		}
		return after, nil
	})
	return unknownRun(err)
}
