package app

import (
	"context"
	"encoding/json"
	"fmt"
	"sort"
	"strings"
	"time"

	"github.com/google/uuid"

	"companyos/shared/company"
	"companyos/shared/routine"
	"companyos/shared/store"
	"companyos/shared/task"
)

// Channel delivers messages. It repeats by itself what may pass; an error is a message that did not arrive as far as is
// known, so that it is delivered again: at least once, always with the same id.
type Channel interface {
	Deliver(ctx context.Context, m Message) error
}

// Message is something to deliver.
type Message struct {
	ID          string // the same for every try of the same message
	Destination string // what the Product's metadata says
	ProductID   string
	Title       string
	Text        string // Markdown
	At          time.Time
}

// Summarized is what became of a summary, in the contract's form.
type Summarized struct {
	Path      string `json:"path"`
	Delivered bool   `json:"delivered"`
	Quiet     bool   `json:"quiet"` // it was delivered before: nothing was done
}

// summaryTarget is what a Product's metadata says of its summaries.
type summaryTarget struct {
	Interface   string `json:"interface"`
	Destination string `json:"destination"`
}

// snapshot is what the next summary is compared with.
type snapshot struct {
	At       int64            `json:"at"`
	Statuses map[string]int64 `json:"tasks"`
	Projects int64            `json:"projects"`
}

// summaryLife is how long a delivery may take before another may begin.
const summaryLife = 600 * time.Second

// Summarize writes a Product's summary page from an executor's narrative and the records, delivers it by the Product's
// channel and keeps the receipt. A run whose summary arrived does nothing more. KindConflict while another delivery for the
// Product is under way, KindInvalid without a narrative or a channel.
func (c *Company) Summarize(ctx context.Context, productID, runID, narrative string) (Summarized, error) {
	out := Summarized{Path: routine.SummaryPath}
	product, err := c.Product(ctx, productID, false)
	if err != nil {
		return out, err
	}
	target, channel, err := c.summaryChannel(&product.Product)
	if err != nil {
		return out, err
	}
	if strings.TrimSpace(narrative) == "" {
		return out, task.Invalidf("narrative_blank", "Say where the Product stands.", "Summary requires the executor's narrative")
	}
	name, holder := "summary/"+productID, uuid.NewString()
	held, err := c.DB.TakeClaim(ctx, name, holder, summaryLife)
	if err != nil {
		return out, err
	}
	if !held {
		return out, task.Conflictf("summary_in_progress", "Try again in a few minutes.", "Another Summary delivery is in progress; retry after it finishes")
	}
	defer func() {
		if free := c.DB.FreeClaim(context.WithoutCancel(ctx), name, holder); err == nil {
			err = free
		}
	}()
	out, err = c.summarize(ctx, product, runID, narrative, target, channel)
	return out, err
}

func (c *Company) summaryChannel(p *company.Product) (summaryTarget, Channel, error) {
	target, ok := metadataOf[summaryTarget](p, "summary")
	if !ok || target.Interface == "" || target.Destination == "" {
		return target, nil, task.Invalidf("summary_unconfigured", "Set metadata.summary.interface and .destination of the Product.",
			"Product summary requires an interface and destination")
	}
	channel, ok := c.Channels[target.Interface]
	if !ok {
		names := make([]string, 0, len(c.Channels))
		for name := range c.Channels {
			names = append(names, name)
		}
		sort.Strings(names)
		return target, nil, task.Invalidf("summary_channel", "This deployment delivers by: "+strings.Join(names, ", ")+".",
			"Summary interface is not configured on AgentOS")
	}
	return target, channel, nil
}

func (c *Company) summarize(ctx context.Context, p store.CountedProduct, runID, narrative string, target summaryTarget, channel Channel) (Summarized, error) {
	out := Summarized{Path: routine.SummaryPath}
	receipt, err := c.DB.Delivery(ctx, p.ID, runID)
	if err != nil {
		return out, err
	}
	if receipt != nil {
		out.Delivered, out.Quiet = true, true
		return out, nil
	}
	previous, err := c.DB.LatestDelivery(ctx, p.ID)
	if err != nil {
		return out, err
	}
	attention, err := c.Attention(ctx, p.ID, store.Page{Limit: summaryItems, Number: 1})
	if err != nil {
		return out, err
	}
	now := c.now()
	present := snapshotOf(p, now)
	text := summaryPage(p, narrative, attention, present, previous)
	if err := c.writeGenerated(ctx, p.ID, routine.SummaryPath, text); err != nil {
		return out, err
	}
	m := Message{ID: runID, Destination: target.Destination, ProductID: p.ID, Title: p.Name + ": summary", Text: text, At: now}
	if err := channel.Deliver(ctx, m); err != nil {
		return out, task.Unavailable("summary_undelivered", "The summary could not be delivered", err)
	}
	raw, err := json.Marshal(present)
	if err != nil {
		return out, err
	}
	err = c.DB.Transact(context.WithoutCancel(ctx), func(ctx context.Context, tx *store.Tx) error {
		return tx.InsertDelivery(ctx, store.Delivery{
			ProductID: p.ID, RunID: runID, Channel: target.Interface, Destination: target.Destination, Snapshot: raw, DeliveredAt: now,
		})
	})
	out.Delivered = err == nil
	return out, err
}

// summaryItems is how many waiting things a summary names.
const summaryItems = 20

func snapshotOf(p store.CountedProduct, now time.Time) snapshot {
	s := snapshot{At: now.Unix(), Statuses: map[string]int64{}, Projects: p.Counts.Projects}
	for _, status := range task.Statuses() {
		s.Statuses[string(status)] = p.Counts.Tasks[status]
	}
	return s
}

// summaryPage is the page, and the message.
func summaryPage(p store.CountedProduct, narrative string, a Attention, present snapshot, previous *store.Delivery) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n# %s: summary\n\n%s\n\n", routine.SummaryMarker, p.Name, strings.TrimSpace(narrative))
	fmt.Fprintf(&b, "## Attention\n\n- proposals: %d\n- in review: %d\n- failed: %d\n\n", a.Proposals, a.InReview, a.Failed)
	b.WriteString("## Changes\n\n" + changes(present, previous) + "\n")
	writeItems(&b, "Waiting", a.Items, false)
	writeItems(&b, "Failed", a.Items, true)
	return b.String()
}

// changes compares with the last summary that arrived.
func changes(present snapshot, previous *store.Delivery) string {
	if previous == nil {
		return "This is the first summary that is delivered.\n"
	}
	var before snapshot
	if json.Unmarshal(previous.Snapshot, &before) != nil {
		return "The last summary cannot be compared.\n"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Since %s:\n\n", time.Unix(before.At, 0).UTC().Format("2006-01-02 15:04 UTC"))
	same := true
	for _, status := range task.Statuses() {
		if was, is := before.Statuses[string(status)], present.Statuses[string(status)]; was != is {
			fmt.Fprintf(&b, "- %s: %d, was %d\n", status, is, was)
			same = false
		}
	}
	if before.Projects != present.Projects {
		fmt.Fprintf(&b, "- open Projects: %d, was %d\n", present.Projects, before.Projects)
		same = false
	}
	if same {
		b.WriteString("- nothing\n")
	}
	return b.String()
}

func writeItems(b *strings.Builder, title string, items []company.Attended, failed bool) {
	fmt.Fprintf(b, "\n## %s\n\n", title)
	n := 0
	for _, i := range items {
		isFailure := i.Cause == company.CauseFailed || i.Cause == company.CauseAutomation || i.Cause == company.CauseRoutine
		if isFailure == failed {
			fmt.Fprintf(b, "- %s: %s\n", i.Title, i.Why)
			n++
		}
	}
	if n == 0 {
		b.WriteString("- nothing\n")
	}
}
