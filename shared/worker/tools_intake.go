package worker

import (
	"context"
	"slices"

	"companyos/shared/app"
	"companyos/shared/company"
	"companyos/shared/model"
)

type seenSource struct {
	ID        string             `json:"id"`
	Type      company.SourceType `json:"type"`
	Reference string             `json:"reference"`
}

type seenDocument struct {
	Path         string   `json:"path"`
	Link         string   `json:"link"`
	ContentHash  string   `json:"content_hash"`
	Content      *string  `json:"content,omitempty"` // nil: ask for the link
	SkippedPaths []string `json:"skipped_paths,omitempty"`
}

// shownMost bounds what one reading of a Source shows of the documents' contents.
const shownMost = 128 << 10

// intake reads Sources and proposes.
func (t *tools) intake() []model.Tool {
	return []model.Tool{
		tool("list_sources", "Lists the Sources of the Product.", nil, nil, func(ctx context.Context, _ nothing) (string, error) {
			found, err := t.Sources(ctx)
			seen := make([]seenSource, len(found))
			for i, s := range found {
				seen[i] = seenSource{s.ID, s.Type, s.Reference}
			}
			return answer(seen, err)
		}),
		t.readSource(),
		tool("propose_project", "Proposes a Project. The same name is the same Project, however often it is proposed.",
			map[string]any{"name": text("A short name."), "outcome": text("What there is when it is done.")}, []string{"name"},
			func(ctx context.Context, in struct {
				Name    string
				Outcome *string
			},
			) (string, error) {
				p, err := t.ProposeProject(ctx, in.Name, in.Outcome)
				return answer(seenProject{p.ID, p.Name, p.Status, p.Outcome}, err)
			}),
		t.proposeTask(),
	}
}

func (t *tools) readSource() model.Tool {
	return tool("read_source", "Reads a Source. Where the documents are too much for one answer, the last ones are without their content: ask for them by their links.",
		map[string]any{
			"source_id": text("The Source's id."),
			"links":     map[string]any{"type": "array", "items": map[string]any{"type": "string"}, "description": "Only these documents; all where it is missing."},
		},
		[]string{"source_id"},
		func(ctx context.Context, in struct {
			SourceID string `json:"source_id"`
			Links    []string
		},
		) (string, error) {
			read, err := t.ReadSource(ctx, in.SourceID)
			return answer(shown(read, in.Links), err)
		})
}

// shown is what the model sees of the documents of a Source.
func shown(read []company.Document, links []string) []seenDocument {
	seen, size := []seenDocument{}, 0
	for i := range read {
		e := &read[i]
		if len(links) > 0 && !slices.Contains(links, e.Link) {
			continue
		}
		d := seenDocument{Path: e.Path, Link: e.Link, ContentHash: e.ContentHash, SkippedPaths: e.SkippedPaths}
		if size += len(e.Content); size <= shownMost || len(seen) == 0 {
			d.Content = &e.Content
		}
		seen = append(seen, d)
	}
	return seen
}

type proposal struct {
	SourceID  string `json:"source_id"`
	ProjectID string `json:"project_id"`
	Title     string
	Brief     *string
	Key       string
	Evidence  []struct {
		Link        string
		ContentHash string `json:"content_hash"`
	}
}

func (t *tools) proposeTask() model.Tool {
	return tool("propose_task", "Proposes a Task, which waits in Backlog for a person. The same Source and key are the same Task, however often it is proposed.",
		map[string]any{
			"source_id": text("The Source that it rests on."), "project_id": text("The Project that it is part of."),
			"title": text("A short title."), "brief": text("What is to be done, in your own words."), "key": text("Names the problem, so that the next scan finds the same one."),
			"evidence": map[string]any{
				"type": "array", "description": "The documents that it rests on, as you read them.",
				"items": map[string]any{
					"type": "object", "required": []string{"link", "content_hash"},
					"properties": map[string]any{"link": text("As it was read."), "content_hash": text("As it was read.")},
				},
			},
		},
		[]string{"source_id", "project_id", "title", "brief", "key", "evidence"},
		func(ctx context.Context, in proposal) (string, error) {
			p := app.Proposal{SourceID: in.SourceID, ProjectID: in.ProjectID, Title: in.Title, Brief: in.Brief, Key: in.Key, Hashes: map[string]string{}}
			for _, e := range in.Evidence {
				p.Links, p.Hashes[e.Link] = append(p.Links, e.Link), e.ContentHash
			}
			placed, err := t.Propose(ctx, p)
			return answer(map[string]any{"id": placed.ID, "title": placed.Title, "status": placed.Status}, err)
		})
}
