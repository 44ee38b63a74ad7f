package app

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"companyos/shared/company"
	"companyos/shared/routine"
	"companyos/shared/store"
	"companyos/shared/task"
)

// Refreshed is what Refresh did, in the contract's form.
type Refreshed struct {
	ArchiveWindowDays     int64                `json:"archive_window_days"`
	CompletionProposals   []CompletionProposal `json:"completion_proposals"`
	ArchivedProjects      []string             `json:"archived_projects"`
	ArchivedTasks         []string             `json:"archived_tasks"`
	DeletedPages          []string             `json:"deleted_pages"`
	DeletedAutomationRuns int64                `json:"deleted_automation_runs"`
}

// CompletionProposal names a Project that could be done.
type CompletionProposal struct {
	ProjectID string `json:"project_id"`
	Name      string `json:"name"`
	Path      string `json:"path"`
}

// refreshBatch is how many records Refresh reads at once. It writes each in a transaction of its own, so that a crash
// anywhere leaves nothing half done, and the next Refresh goes on.
const refreshBatch = 200

// Refresh tidies up a Product: it archives what was finished longer ago than the Product's window, deletes old history and
// old generated pages, and proposes which Projects could be done. It completes none. KindNotFound for a Product that is
// missing or archived.
func (c *Company) Refresh(ctx context.Context, productID string) (Refreshed, error) {
	product, err := c.Product(ctx, productID, false)
	if err != nil {
		return Refreshed{}, err
	}
	out := Refreshed{
		ArchiveWindowDays: archiveWindow(&product.Product), CompletionProposals: []CompletionProposal{}, ArchivedProjects: []string{},
		ArchivedTasks: []string{}, DeletedPages: []string{},
	}
	now := c.now()
	cutoff := routine.ArchiveCutoff(now, out.ArchiveWindowDays)
	if out.ArchivedProjects, err = c.archiveFinished(ctx, productID, cutoff, c.DB.FinishedProjects, c.archiveOldProject); err != nil {
		return out, err
	}
	if out.ArchivedTasks, err = c.archiveFinished(ctx, productID, cutoff, c.DB.FinishedTasks, c.archiveOldTask); err != nil {
		return out, err
	}
	if out.DeletedAutomationRuns, err = c.deleteHistory(ctx, c.Retention.HistoryCutoff(now)); err != nil {
		return out, err
	}
	if err := c.deleteOldPages(ctx, productID, cutoff, &out); err != nil {
		return out, err
	}
	return out, c.proposeCompletions(ctx, productID, &out)
}

func archiveWindow(p *company.Product) int64 {
	days, err := strconv.ParseInt(string(p.Metadata[company.MetadataArchiveWindow]), 10, 64)
	if err != nil {
		return company.DefaultArchiveWindowDays
	}
	return days
}

type finished func(ctx context.Context, productID string, before time.Time, most int) ([]string, error)

// archiveFinished archives what list finds, until it finds nothing new.
func (c *Company) archiveFinished(ctx context.Context, productID string, cutoff time.Time, list finished, archive func(ctx context.Context, id string, cutoff time.Time) (bool, error)) ([]string, error) {
	archived := []string{}
	for {
		ids, err := list(ctx, productID, cutoff, refreshBatch)
		if err != nil {
			return archived, err
		}
		before := len(archived)
		for _, id := range ids {
			done, err := archive(ctx, id, cutoff)
			if err != nil {
				return archived, err
			}
			if done {
				archived = append(archived, id)
			}
		}
		if len(ids) < refreshBatch || len(archived) == before {
			return archived, nil
		}
	}
}

func (c *Company) archiveOldProject(ctx context.Context, id string, cutoff time.Time) (archived bool, err error) {
	_, err = c.changeProject(ctx, id, func(ctx context.Context, tx *store.Tx, p company.Project) (company.Project, error) {
		archived = false
		if p.Status.Open() || !latest(p.CreatedAt, p.UpdatedAt).Before(cutoff) {
			return p, errUnchanged
		}
		active, err := tx.ActiveTasksOfProject(ctx, id, maxRefs)
		if err != nil {
			return p, err
		}
		if len(active) > 0 {
			return p, company.ActiveTasksError(active)
		}
		archived = true
		return p.Archived(c.now()), nil
	})
	return archived && err == nil, gone(err)
}

func (c *Company) archiveOldTask(ctx context.Context, id string, cutoff time.Time) (archived bool, err error) {
	err = c.changeTask(ctx, id, func(_ context.Context, _ *store.Tx, t task.Task) (task.Task, error) {
		archived = false
		if t.Status.Open() || t.LiveRunID != nil || !latest(t.CreatedAt, t.UpdatedAt).Before(cutoff) {
			return t, errUnchanged
		}
		archived = true
		now := c.now()
		t.ArchivedAt, t.UpdatedAt = &now, &now
		return t, nil
	})
	return archived && err == nil, gone(err)
}

// gone forgives that a record was archived by somebody else meanwhile.
func gone(err error) error {
	if err != nil && (task.KindOf(err) == task.KindNotFound || errors.Is(err, store.ErrChanged)) {
		return nil
	}
	return err
}

func latest(created time.Time, updated *time.Time) time.Time {
	if updated != nil {
		return *updated
	}
	return created
}

// deleteOldPages deletes generated pages from before the cutoff. A page that a person has written over stays.
func (c *Company) deleteOldPages(ctx context.Context, productID string, cutoff time.Time, out *Refreshed) error {
	pages, err := c.DB.OldPages(ctx, productID, cutoff, refreshBatch)
	if err != nil {
		return err
	}
	for _, p := range pages {
		if !routine.Generated(p.Path, p.Content) {
			continue
		}
		if err := c.deletePage(ctx, p, out); err != nil {
			return err
		}
	}
	return nil
}

func (c *Company) deletePage(ctx context.Context, p company.Page, out *Refreshed) error {
	err := c.DB.Transact(ctx, func(ctx context.Context, tx *store.Tx) error { return tx.DeleteWikiPage(ctx, &p) })
	if errors.Is(err, store.ErrChanged) {
		return nil // somebody wrote it meanwhile
	}
	if err == nil {
		out.DeletedPages = append(out.DeletedPages, p.Path)
	}
	return err
}

// proposeCompletions writes a page for every Project that could be done, and deletes those of the others.
func (c *Company) proposeCompletions(ctx context.Context, productID string, out *Refreshed) error {
	projects, err := c.DB.CompletableProjects(ctx, productID, projectTasks)
	if err != nil {
		return err
	}
	pending := map[string]bool{}
	for _, p := range projects {
		tasks, err := c.DB.TasksOfProject(ctx, p.ID, projectTasks+1)
		if err != nil {
			return err
		}
		if len(tasks) > projectTasks {
			continue
		}
		path := routine.CompletionPath(p.ID)
		if err := c.writeGenerated(ctx, productID, path, routine.CompletionPage(&p, unarchived(tasks))); err != nil {
			return err
		}
		pending[path] = true
		out.CompletionProposals = append(out.CompletionProposals, CompletionProposal{ProjectID: p.ID, Name: p.Name, Path: path})
	}
	present, err := c.DB.OldPages(ctx, productID, c.now().Add(24*time.Hour), projectTasks)
	if err != nil {
		return err
	}
	for _, p := range present {
		if p.Path == routine.SummaryPath || pending[p.Path] || !routine.Generated(p.Path, p.Content) {
			continue
		}
		if err := c.deletePage(ctx, p, out); err != nil {
			return err
		}
	}
	return nil
}

// writeGenerated writes a page of the Company's own unless it holds the text already.
func (c *Company) writeGenerated(ctx context.Context, namespace, path, content string) error {
	for range maxChangeTries {
		_, page, err := c.DB.WikiPage(ctx, namespace, path, 0)
		if err != nil {
			return err
		}
		version := int64(0)
		if page != nil {
			if page.Content == content {
				return nil
			}
			version = int64(page.Version)
		}
		err = c.writeUnowned(ctx, PageWrite{Namespace: namespace, Path: path, Content: content, ExpectedVersion: version})
		if task.KindOf(err) != task.KindConflict {
			return err
		}
	}
	return task.Unavailable("busy", "The page keeps changing", nil)
}

// writeUnowned is WritePage for the Company itself.
func (c *Company) writeUnowned(ctx context.Context, in PageWrite) error {
	_, err := c.WritePage(ctx, task.Caller{}, in)
	return err
}

// historyBatch is below the rows that a portable transaction may write.
const historyBatch = 2000

// deleteHistory deletes the automation's history from before a moment, batch by batch.
func (c *Company) deleteHistory(ctx context.Context, cutoff time.Time) (int64, error) {
	runs, err := inBatches(ctx, historyBatch, func(most int) (int64, error) { return c.DB.DeleteAutomationRuns(ctx, cutoff, most) })
	if err != nil {
		return runs, err
	}
	streaks, err := inBatches(ctx, historyBatch, func(most int) (int64, error) { return c.DB.DeleteStreaks(ctx, cutoff, most) })
	return runs + streaks, err
}

// metadataOf reads a field of a Product's metadata; ok is false when it is missing or of another form.
func metadataOf[T any](p *company.Product, name string) (v T, ok bool) {
	raw, there := p.Metadata[name]
	return v, there && json.Unmarshal(raw, &v) == nil
}
