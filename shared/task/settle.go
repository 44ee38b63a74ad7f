package task

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"time"
)

// Settle ends a run with an outcome, and its Task with it: a result of a sandboxed run counts only with the right pin.
// Both are written in one transaction.
func Settle(t Task, r Run, o Outcome, source SourceMatch, now time.Time) (Task, Run) {
	if r.Sandboxed && o.State == StateCompleted {
		if problem := CheckPin(&t, &r, r.Checkout, source); problem != nil {
			o.State, o.Ended, o.Content = StateError, *problem, problem.Message
		} else if t.Checkout == nil {
			r.SourceID = source.ID
		}
	}
	r = r.end(o, now)
	return Close(t, r, now), r
}

// Close settles a Task with a run that has become terminal: the Task is free for its next attempt, and shows the result
// if it still waits for this run.
func Close(t Task, r Run, now time.Time) Task {
	if t.LiveRunID != nil && *t.LiveRunID == r.ID {
		t.LiveRunID = nil
	}
	if t.Status != StatusInProgress || t.ArchivedAt != nil || t.JobID == nil || *t.JobID != r.ID || t.Result != nil {
		return t
	}
	t.Result = &Result{RunID: r.ID, Status: ResultStatus(r.State), Content: r.Content, ContentType: r.ContentType, SHA256: contentHash(r.Content)}
	t.UpdatedAt = &now
	if r.State != StateCompleted {
		return t
	}
	if r.Sandboxed && t.Checkout == nil {
		t.Checkout = &Checkout{SourceID: r.SourceID, URL: r.Checkout.URL, Branch: r.Checkout.Branch, Commit: r.Checkout.Commit}
	}
	t.Transitions = append(slices.Clip(t.Transitions), Entry{
		From: string(t.Status), Target: string(StatusInReview), Reason: ReasonCompleted, CreatedAt: now.Unix(),
	})
	t.Status = StatusInReview
	return t
}

func contentHash(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}
