package routine

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"companyos/shared/company"
	"companyos/shared/task"
)

// Retention is how long what nobody needs any more is kept.
type Retention struct {
	HistoryDays  int // of the automation's own history
	ArtifactDays int // of events and artifacts of finished work
}

// DefaultRetentionDays is both.
const DefaultRetentionDays = 30

const day = 24 * time.Hour

// HistoryCutoff is the moment before which history goes.
func (r Retention) HistoryCutoff(now time.Time) time.Time { return before(now, r.HistoryDays) }

// ArtifactCutoff is the moment before which events and artifacts go.
func (r Retention) ArtifactCutoff(now time.Time) time.Time { return before(now, r.ArtifactDays) }

func before(now time.Time, days int) time.Time {
	if days < 1 {
		days = DefaultRetentionDays
	}
	return now.Add(-time.Duration(days) * day)
}

// ArchiveCutoff is the moment before which finished work of a Product is archived. Times count in whole seconds, as the
// contract's: a window of 0 days archives from the next second on.
func ArchiveCutoff(now time.Time, windowDays int64) time.Time {
	return now.Truncate(time.Second).Add(-time.Duration(windowDays) * day)
}

// Pages that Refresh and the summary write.
const (
	SummaryPath      = "summary.md"
	SummaryMarker    = "<!-- Company summary snapshot -->"
	CompletionFolder = "project-completion/"
	CompletionMarker = "<!-- Company completion proposal -->"
)

// CompletionPath is where the proposal to complete a Project is.
func CompletionPath(projectID string) string {
	sum := sha256.Sum256([]byte(projectID))
	return CompletionFolder + hex.EncodeToString(sum[:]) + ".md"
}

// CompletionPage is the proposal to complete a Project, with its unarchived Tasks by id.
func CompletionPage(p *company.Project, tasks []task.Task) string {
	var b strings.Builder
	b.WriteString(CompletionMarker + "\n# Complete " + p.Name + "\n\n" +
		"Every Task of this Project is done or cancelled. A person, or a Routine with the right to, may move it to done.\n\n" +
		"Project: " + p.ID + "\n\n")
	for _, t := range tasks {
		b.WriteString("- " + t.ID + ": " + string(t.Status) + "\n")
	}
	return b.String()
}

// Generated says that a page was written by the Company itself, so that it may go when it is old. The pages that every
// namespace has never do.
func Generated(path, content string) bool {
	switch {
	case path == SummaryPath:
		return strings.Contains(content, SummaryMarker)
	case strings.HasPrefix(path, CompletionFolder):
		return strings.HasPrefix(content, CompletionMarker)
	}
	return false
}
