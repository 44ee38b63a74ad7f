package store

import (
	"context"
	"encoding/json"
	"time"

	"companyos/shared/company"
	"companyos/shared/store/internal/pgq"
	"companyos/shared/task"
)

// FinishedProjects are the ids of Projects of a Product that were finished before a moment and are not archived.
func (db *DB) FinishedProjects(ctx context.Context, productID string, before time.Time, most int) ([]string, error) {
	ids, err := db.single().FinishedProjects(ctx, pgq.FinishedProjectsParams{ProductID: productID, Before: &before, Most: int32(most)})
	return ids, unavailable(err)
}

// FinishedTasks are the same of Tasks in Projects that are not archived.
func (db *DB) FinishedTasks(ctx context.Context, productID string, before time.Time, most int) ([]string, error) {
	ids, err := db.single().FinishedTasks(ctx, pgq.FinishedTasksParams{ProductID: productID, Before: &before, Most: int32(most)})
	return ids, unavailable(err)
}

// OldPages returns pages of a namespace that may be generated and were written before a moment, by path.
func (db *DB) OldPages(ctx context.Context, namespace string, before time.Time, most int) ([]company.Page, error) {
	rows, err := db.single().OldPages(ctx, pgq.OldPagesParams{Namespace: namespace, Before: before, Most: int32(most)})
	if err != nil {
		return nil, unavailable(err)
	}
	return convert(rows, func(r pgq.WikiPage) (company.Page, error) { return decodePage(r), nil })
}

// DeleteWikiPage removes a generated page with its versions, ErrChanged when its version is not the one that was read.
func (tx *Tx) DeleteWikiPage(ctx context.Context, p *company.Page) error {
	n, err := tx.q.DeleteWikiPage(ctx, pgq.DeleteWikiPageParams{Namespace: p.Namespace, Path: p.Path, Version: int32(p.Version)})
	if err := changed(n, err); err != nil {
		return err
	}
	return tx.q.DeleteWikiVersions(ctx, pgq.DeleteWikiVersionsParams{Namespace: p.Namespace, Path: p.Path})
}

// DeleteAutomationRuns removes one batch of history from before a moment.
func (db *DB) DeleteAutomationRuns(ctx context.Context, before time.Time, most int) (int64, error) {
	n, err := db.single().DeleteAutomationRuns(ctx, pgq.DeleteAutomationRunsParams{Before: before, Most: int32(most)})
	return n, unavailable(err)
}

// DeleteStreaks removes one batch of streaks that last counted before a moment.
func (db *DB) DeleteStreaks(ctx context.Context, before time.Time, most int) (int64, error) {
	n, err := db.single().DeleteStreaks(ctx, pgq.DeleteStreaksParams{Before: before, Most: int32(most)})
	return n, unavailable(err)
}

// CountHistory counts what DeleteAutomationRuns and DeleteStreaks would remove together.
func (db *DB) CountHistory(ctx context.Context, before time.Time) (int64, error) {
	runs, err := db.single().CountAutomationRuns(ctx, before)
	if err != nil {
		return 0, unavailable(err)
	}
	streaks, err := db.single().CountStreaks(ctx, before)
	return runs + streaks, unavailable(err)
}

// DeleteDeliveries removes receipts from before a moment, but the latest of every Product.
func (db *DB) DeleteDeliveries(ctx context.Context, before time.Time) (int64, error) {
	n, err := db.single().DeleteDeliveries(ctx, before)
	return n, unavailable(err)
}

// OldRun is a run that ended long ago, with what retention may take of it.
type OldRun struct {
	ID         string
	EndedAt    time.Time
	InputKey   string
	Artifacts  []task.Artifact
	Events     int64 // sequence number of the last
	TaskStatus task.Status
	Live       bool // the Task has a live run
}

// OldRuns returns one batch of runs that ended before a moment and that retention has not taken yet, oldest first, after a
// place in that order.
func (db *DB) OldRuns(ctx context.Context, before time.Time, after OldRun, most int) ([]OldRun, error) {
	rows, err := db.single().RunsToClean(ctx, pgq.RunsToCleanParams{Before: &before, AfterAt: &after.EndedAt, AfterID: after.ID, Most: int32(most)})
	if err != nil {
		return nil, unavailable(err)
	}
	return convert(rows, func(r pgq.RunsToCleanRow) (OldRun, error) {
		out := OldRun{ID: r.ID, EndedAt: *r.EndedAt, InputKey: r.InputKey, Events: r.EventSeq, TaskStatus: task.Status(r.TaskStatus), Live: r.LiveRunID != nil}
		return out, json.Unmarshal(r.Artifacts, &out.Artifacts)
	})
}

// FirstEvent is the sequence number of a run's oldest event, 0 when it has none.
func (db *DB) FirstEvent(ctx context.Context, runID string) (int64, error) {
	n, err := db.single().FirstEvent(ctx, runID)
	return n, unavailable(err)
}

// DeleteEvents removes a run's events up to a sequence number.
func (db *DB) DeleteEvents(ctx context.Context, runID string, upto int64) (int64, error) {
	n, err := db.single().DeleteEvents(ctx, pgq.DeleteEventsParams{RunID: runID, Upto: upto})
	return n, unavailable(err)
}

// ForgetArtifacts takes a run's references to its blobs and notes the blobs as garbage, in one transaction: whoever is cut
// off afterwards leaves garbage that is known, never a reference to nothing. false when the run's Task is work again.
func (tx *Tx) ForgetArtifacts(ctx context.Context, r *OldRun, now time.Time) (bool, error) {
	n, err := tx.q.ForgetArtifacts(ctx, r.ID)
	if err != nil || n == 0 {
		return false, err
	}
	keys := []string{r.InputKey}
	for _, a := range r.Artifacts {
		keys = append(keys, a.Key)
	}
	for _, key := range keys {
		if err := tx.q.InsertGarbage(ctx, pgq.InsertGarbageParams{Key: key, CreatedAt: now}); err != nil {
			return false, err
		}
	}
	return true, nil
}

// uploadsEnd is how long after a run's time an upload that had begun may arrive.
const uploadsEnd = time.Hour

// followArtifacts notes blobs that a run does not name any more as garbage, from when its sandbox can upload nothing more:
// until then it may name one of them again, which is garbage no longer.
func (tx *Tx) followArtifacts(ctx context.Context, before, after *task.Run) error {
	var from time.Time // a run without an end has no sandbox
	if before.RunUntil != nil {
		from = before.RunUntil.Add(uploadsEnd)
	}
	for _, a := range before.ArtifactsBeside(after) {
		if err := tx.q.InsertGarbage(ctx, pgq.InsertGarbageParams{Key: a.Key, CreatedAt: from}); err != nil {
			return err
		}
	}
	for _, a := range after.ArtifactsBeside(before) {
		if err := tx.q.DeleteGarbage(ctx, a.Key); err != nil {
			return err
		}
	}
	return nil
}

// Garbage are keys of blobs that nothing refers to, nor can again.
func (db *DB) Garbage(ctx context.Context, now time.Time, most int) ([]string, error) {
	keys, err := db.single().Garbage(ctx, pgq.GarbageParams{Now: now, Most: int32(most)})
	return keys, unavailable(err)
}

// DeleteGarbage forgets a key whose blob is gone.
func (db *DB) DeleteGarbage(ctx context.Context, key string) error {
	return unavailable(db.single().DeleteGarbage(ctx, key))
}
