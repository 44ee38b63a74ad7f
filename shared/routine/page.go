package routine

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"companyos/shared/company"
	"companyos/shared/task"
)

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
