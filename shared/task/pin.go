package task

import "strings"

// The texts of a pin that does not hold, the contract's.
const (
	pinMissing       = "Sandboxed run did not publish a repository pin"
	pinNotCheckout   = "Sandboxed run repository pin does not match the Task checkout"
	pinNotSource     = "Sandboxed run repository pin does not match the Product git Source"
	pinCommitInvalid = "metadata.repository.commit must be a full 40-hex commit SHA"
)

// SourceMatch is the Product's git Source that allows the executor's repository: its id, or why there is none.
type SourceMatch struct {
	ID      string
	Problem string // the contract's text
}

// CheckPin compares what a run reports to have checked out with the Task's pin, or, before there is one, with what the
// run was asked to check out and with the Product's Source. It returns nil or how the run ends.
func CheckPin(t *Task, r *Run, got RunCheckout, source SourceMatch) *Ended {
	switch {
	case got.Commit == "":
		return &Ended{Kind: EndNoPin, Message: pinMissing}
	case !fullCommit(got.Commit):
		return &Ended{Kind: EndNoPin, Message: pinCommitInvalid}
	case t.Checkout != nil:
		if got.URL != t.Checkout.URL || got.Branch != t.Checkout.Branch || !strings.EqualFold(got.Commit, t.Checkout.Commit) {
			return &Ended{Kind: EndPinMismatch, Message: pinNotCheckout}
		}
	case source.Problem != "":
		return &Ended{Kind: EndSourceGone, Message: source.Problem}
	case got.URL != r.Checkout.URL || got.Branch != r.Checkout.Branch:
		return &Ended{Kind: EndPinMismatch, Message: pinNotSource}
	}
	return nil
}

func fullCommit(sha string) bool {
	return len(sha) == 40 && !strings.ContainsFunc(sha, func(c rune) bool {
		return (c < '0' || c > '9') && (c < 'a' || c > 'f') && (c < 'A' || c > 'F')
	})
}
