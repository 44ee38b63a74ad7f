package task

import (
	"slices"
	"strconv"
)

// The kinds of artifacts.
const (
	ArtifactPatch      = "patch"
	ArtifactTranscript = "transcript"
	ArtifactResult     = "result"
	ArtifactLog        = "log"
)

// ArtifactKinds lists all kinds.
func ArtifactKinds() []string {
	return []string{ArtifactPatch, ArtifactTranscript, ArtifactResult, ArtifactLog}
}

// keptArtifacts is how many artifacts of a kind a run names; older snapshots are superseded, and deleted.
const keptArtifacts = 16

// ArtifactKey is where an artifact of the present launch is stored.
func (r *Run) ArtifactKey(kind, sha string) string {
	return "runs/" + r.ID + "/" + strconv.Itoa(r.Launch) + "/" + kind + "-" + sha
}

// Artifact is the newest artifact of a kind, nil when there is none. A run with a result has those that this names.
func (r *Run) Artifact(kind string) *Artifact {
	for i := len(r.Artifacts) - 1; i >= 0; i-- {
		if r.Artifacts[i].Kind == kind {
			return &r.Artifacts[i]
		}
	}
	return nil
}

// Announced finds an artifact of the present launch by its hash.
func (r *Run) Announced(kind, sha string) (Artifact, bool) {
	key := r.ArtifactKey(kind, sha)
	i := slices.IndexFunc(r.Artifacts, func(a Artifact) bool { return a.Key == key })
	if i < 0 {
		return Artifact{}, false
	}
	return r.Artifacts[i], true
}

// WithArtifact returns the run with an artifact as the newest of its kind; the oldest beyond keptArtifacts goes.
func (r Run) WithArtifact(a Artifact) Run {
	all := slices.DeleteFunc(slices.Clone(r.Artifacts), func(b Artifact) bool { return b.Key == a.Key })
	all = append(all, a)
	same := 0
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].Kind != a.Kind {
			continue
		}
		if same++; same > keptArtifacts {
			all = slices.Delete(all, i, i+1)
		}
	}
	r.Artifacts = all
	return r
}

// WithResult returns the run with a result and what that names, in place of all that was saved on the way: an agent that
// took its changes back has no patch. The log is named by no result.
func (r Run) WithResult(named []Artifact) Run {
	r.Artifacts = slices.DeleteFunc(slices.Clone(r.Artifacts), func(a Artifact) bool { return a.Kind != ArtifactLog })
	r.Artifacts = append(r.Artifacts, named...)
	return r
}

// ArtifactsBeside are those that r names and other does not.
func (r *Run) ArtifactsBeside(other *Run) []Artifact {
	return slices.DeleteFunc(slices.Clone(r.Artifacts), func(a Artifact) bool {
		return slices.ContainsFunc(other.Artifacts, func(b Artifact) bool { return b.Key == a.Key })
	})
}
