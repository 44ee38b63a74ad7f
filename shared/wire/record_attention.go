package wire

import (
	"time"

	"companyos/shared/company"
)

// Attention counts what waits for a person and lists it, longest waiting first.
type Attention struct {
	Proposals          int64               `json:"proposals"`
	InReview           int64               `json:"in_review"`
	Failed             int64               `json:"failed"`
	AutomationFailures []AutomationFailure `json:"automation_failures,omitempty"`
	Items              []AttentionItem     `json:"items"`
	NextCursor         *string             `json:"next_cursor,omitempty"` // of the items; absent when nothing follows
}

// AutomationFailure is a Task that the automation keeps failing on.
type AutomationFailure struct {
	TaskID string `json:"task_id"`
	Reason string `json:"reason"`
	Count  int64  `json:"count"`
}

// AttentionItem is one thing that waits: for whom, why, since when, at what cost, what happens by itself, and the one call
// that settles it.
type AttentionItem struct {
	Cause     company.Cause  `json:"cause"`
	TaskID    *string        `json:"task_id"`
	RoutineID *string        `json:"routine_id"`
	ProductID string         `json:"product_id"`
	Title     string         `json:"title"`
	WaitsFor  string         `json:"waits_for"`
	Why       string         `json:"why"`
	Since     int64          `json:"since"`
	Cost      string         `json:"cost"`
	Next      *AttentionNext `json:"next"` // null: nothing happens without a person
	Settle    AttentionCall  `json:"settle"`
}

// AttentionNext is what happens by itself, and when; at is null when nobody knows.
type AttentionNext struct {
	What string `json:"what"`
	At   *int64 `json:"at"`
}

// AttentionCall is a request. A null in its body is the caller's to choose.
type AttentionCall struct {
	Method string         `json:"method"`
	Path   string         `json:"path"`
	Body   map[string]any `json:"body" nullable:"true"`
}

// NewAttention builds the record.
func NewAttention(a company.Attention, items []company.Attended) Attention {
	out := Attention{Proposals: a.Proposals, InReview: a.InReview, Failed: a.Failed, Items: make([]AttentionItem, len(items))}
	for _, f := range a.AutomationFailures {
		out.AutomationFailures = append(out.AutomationFailures, AutomationFailure(f))
	}
	for i, w := range items {
		out.Items[i] = newAttentionItem(w)
	}
	return out
}

func newAttentionItem(w company.Attended) AttentionItem {
	item := AttentionItem{
		Cause: w.Cause, TaskID: notEmpty(w.TaskID), RoutineID: notEmpty(w.RoutineID), ProductID: w.ProductID, Title: w.Title,
		WaitsFor: w.WaitsFor, Why: w.Why, Since: w.Since.Unix(), Cost: w.Cost, Settle: AttentionCall(w.Settle),
	}
	if w.Next != "" {
		item.Next = &AttentionNext{What: w.Next, At: seconds(w.NextAt)}
	}
	return item
}

// epoch is a time that is always there.
func epoch(t time.Time) *int64 { return ptr(t.Unix()) }
