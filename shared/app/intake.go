package app

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/google/uuid"

	"companyos/shared/company"
	"companyos/shared/routine"
	"companyos/shared/store"
	"companyos/shared/task"
)

// Proposal is work that a Routine proposes, with what it rests on.
type Proposal struct {
	SourceID     string
	ProjectID    string
	Title        string
	Brief        *string
	Key          string // names the problem: the same Source and key are the same Task
	Links        []string
	Hashes       map[string]string // by link, as they were when the proposal was made
	ExecutorType *task.ExecutorKind
	ExecutorID   *string
}

// Intake adds a Task to Backlog on behalf of a Routine. Its Source is read again: a link that is not there, or whose content
// is not what the proposal rests on, is KindInvalid. A proposal that was made before returns its Task as it is now,
// whatever became of it.
func (c *Company) Intake(ctx context.Context, routineID, productID, runID string, p Proposal) (store.TaskInPlace, error) {
	if err := p.validate(); err != nil {
		return store.TaskInPlace{}, err
	}
	key := routine.DedupeKey(p.SourceID, p.Key)
	if there, ok, err := c.DB.TaskByDedupeKey(ctx, productID, key); err != nil || ok {
		return there, err
	}
	read, err := c.ReadProductSource(ctx, productID, p.SourceID)
	if err != nil {
		return store.TaskInPlace{}, err
	}
	evidence, err := p.evidence(read, runID)
	if err != nil {
		return store.TaskInPlace{}, err
	}
	t := task.Task{
		ID: uuid.NewString(), ProductID: productID, ProjectID: p.ProjectID, Title: p.Title, Brief: p.Brief, Evidence: evidence,
		Origin: task.OriginRoutine, RoutineID: &routineID, DedupeKey: &key, Status: task.StatusBacklog,
		ExecutorType: p.ExecutorType, ExecutorID: p.ExecutorID, SessionID: uuid.NewString(), CreatedAt: c.now(),
	}
	out := store.TaskInPlace{}
	err = c.DB.Transact(ctx, func(ctx context.Context, tx *store.Tx) error {
		there, ok, err := tx.TaskByDedupeKey(ctx, productID, key)
		if err != nil || ok {
			out = there
			return err
		}
		out, err = addTask(ctx, tx, t)
		return err
	})
	return out, finishedProject(err)
}

func (p *Proposal) validate() error {
	switch {
	case strings.TrimSpace(p.Title) == "":
		return task.Invalidf("title_blank", "Give the Task a title.", "title must be a non-empty string")
	case strings.TrimSpace(p.Key) == "":
		return task.Invalidf("key_blank", "Name the problem with a key that the next scan gives it too.", "proposal_key must be a non-empty string")
	case len(p.Links) == 0:
		return task.Invalidf("evidence_missing", "Name the links that the proposal rests on.", "A Routine proposal requires evidence")
	}
	return nil
}

// evidence takes the items that the proposal names from what was read just now.
func (p *Proposal) evidence(read []company.Document, runID string) ([]json.RawMessage, error) {
	byLink := map[string]company.Document{}
	for _, e := range read {
		byLink[e.Link] = e
	}
	var out []json.RawMessage
	for _, link := range p.Links {
		e, ok := byLink[link]
		if !ok {
			return nil, task.Invalidf("evidence_unknown", "Read the Source and name links that it has.", "The Source does not hold %s", link)
		}
		if seen := p.Hashes[link]; seen != e.ContentHash {
			return nil, task.Invalidf("evidence_changed", "Read the Source again and reconsider the proposal.", "The evidence changed before it was proposed: %s", link)
		}
		item := routine.Evidence{SourceID: p.SourceID, RunID: runID, ContentHash: e.ContentHash, Link: e.Link, SkippedPaths: e.SkippedPaths}
		if item.SkippedPaths == nil {
			item.SkippedPaths = []string{}
		}
		raw, err := json.Marshal(item)
		if err != nil {
			return nil, err
		}
		out = append(out, raw)
	}
	return out, nil
}

// ReadProductSource reads a Source that has to be one of the Product's. KindNotFound otherwise, KindUnavailable where it
// cannot be read now.
func (c *Company) ReadProductSource(ctx context.Context, productID, sourceID string) ([]company.Document, error) {
	if c.Config.ReadSource == nil {
		return nil, task.Unavailable("sources_unreadable", "Sources cannot be read by this process", nil)
	}
	var source company.Source
	err := c.DB.Transact(ctx, func(ctx context.Context, tx *store.Tx) error {
		s, productArchived, err := tx.Source(ctx, sourceID)
		if err == nil && (s.ArchivedAt != nil || productArchived || s.ProductID != productID) {
			err = task.NotFound("Source")
		}
		source = s
		return err
	})
	if err != nil {
		return nil, err
	}
	return c.Config.ReadSource(ctx, source)
}

// evidenceHolds says whether everything that a proposal rests on is there still and unchanged. An error is a Source that
// could not be read.
func (c *Company) evidenceHolds(ctx context.Context, productID string, raw []json.RawMessage) (bool, error) {
	items, complete := routine.ReadEvidence(raw)
	if !complete {
		return false, nil
	}
	read := map[string]map[string]string{}
	for _, item := range items {
		if read[item.SourceID] == nil {
			documents, err := c.ReadProductSource(ctx, productID, item.SourceID)
			if task.KindOf(err) == task.KindNotFound {
				return false, nil
			}
			if err != nil {
				return false, err
			}
			hashes := map[string]string{}
			for _, d := range documents {
				hashes[d.Link] = d.ContentHash
			}
			read[item.SourceID] = hashes
		}
		if read[item.SourceID][item.Link] != item.ContentHash {
			return false, nil
		}
	}
	return true, nil
}
