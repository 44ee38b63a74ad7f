package app

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"unicode/utf8"

	"companyos/shared/blob"
	"companyos/shared/task"
)

// resultFile is result.json as a supervisor uploads it.
type resultFile struct {
	Kind       task.EndKind    `json:"kind"`
	Content    string          `json:"content"`
	Usage      *task.Usage     `json:"usage"`
	Patch      *resultArtifact `json:"patch"`
	Transcript *resultArtifact `json:"transcript"`
}

type resultArtifact struct {
	SHA256   string `json:"sha256"`
	Size     int64  `json:"size"`
	Files    int    `json:"files"`
	TakenAt  int64  `json:"taken_at"`
	Redacted bool   `json:"redacted"`
}

// Sizes of a result: of the file, and of what is kept of its content in the run. The file keeps the whole.
const (
	maxResultFile    = 1 << 20
	maxResultContent = 256 << 10
)

// reported is a result that is really there, with the artifacts that it names.
type reported struct {
	outcome   task.Outcome
	artifacts []task.Artifact
}

// errArtifactMissing says that a result or what it names was not uploaded, or is not what was announced.
var errArtifactMissing = task.Conflictf("artifact_missing", "Upload the artifact, then report again.", "The announced artifact was not uploaded")

// announcedResult is the newest result of the run's launch that was announced and uploaded whole, nil when there is none.
func (c *Company) announcedResult(ctx context.Context, r *task.Run) (*reported, error) {
	for _, a := range slices.Backward(r.Artifacts) {
		if a.Kind != task.ArtifactResult || a.Key != r.ArtifactKey(a.Kind, a.SHA256) {
			continue
		}
		found, err := c.readResult(ctx, r, a)
		if errors.Is(err, errArtifactMissing) {
			continue
		}
		return found, err
	}
	return nil, nil
}

// readResult reads an announced result and checks that it and what it names are there. errArtifactMissing when not.
func (c *Company) readResult(ctx context.Context, r *task.Run, a task.Artifact) (*reported, error) {
	raw, err := c.readBlob(ctx, a.Key, maxResultFile)
	if err != nil {
		return nil, err
	}
	var file resultFile
	if json.Unmarshal(raw, &file) != nil || !file.Usage.Valid() {
		file = resultFile{Kind: task.EndInternal, Content: "The sandbox reported a result that is not readable."}
	}
	p := &reported{outcome: task.OutcomeOf(file.Kind, cutContent(clean(file.Content)))}
	p.outcome.Usage, p.outcome.ResultKey, p.outcome.ResultSHA = file.Usage, a.Key, a.SHA256
	p.artifacts = append(p.artifacts, a)
	for kind, named := range map[string]*resultArtifact{task.ArtifactPatch: file.Patch, task.ArtifactTranscript: file.Transcript} {
		if named == nil {
			continue
		}
		announced, ok := r.Announced(kind, named.SHA256)
		if !ok {
			return nil, errArtifactMissing
		}
		if _, err := c.Blobs.Head(ctx, announced.Key); err != nil {
			return nil, missingOr(err)
		}
		announced.Files, announced.TakenAt, announced.Redacted = named.Files, named.TakenAt, named.Redacted
		p.artifacts = append(p.artifacts, announced)
	}
	return p, nil
}

func (c *Company) readBlob(ctx context.Context, key string, most int64) (_ []byte, err error) {
	body, info, err := c.Blobs.Get(ctx, key)
	if err != nil {
		return nil, missingOr(err)
	}
	defer func() { err = errors.Join(err, body.Close()) }()
	if info.Size > most {
		return nil, errArtifactMissing
	}
	raw, err := io.ReadAll(io.LimitReader(body, most+1))
	if err != nil {
		return nil, missingOr(err)
	}
	return raw, nil
}

// missingOr tells an object that is not there, or not the promised one, from a store that does not answer.
func missingOr(err error) error {
	if errors.Is(err, blob.ErrNotFound) || errors.Is(err, blob.ErrHash) {
		return errArtifactMissing
	}
	return task.Unavailable("artifacts_unavailable", "The artifact store is not reachable", err)
}

// cutContent bounds what the run keeps of an answer.
func cutContent(s string) string {
	if len(s) <= maxResultContent {
		return s
	}
	n := maxResultContent
	for !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
