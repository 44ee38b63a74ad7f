package app

import (
	"cmp"
	"context"
	"time"

	"companyos/shared/company"
	"companyos/shared/routine"
	"companyos/shared/store"
)

// Attention is what waits for a person: how much, and one page of it, longest waiting first.
type Attention struct {
	company.Attention
	Items []company.Attended
	Next  *store.Position // behind the last item of a full page
}

// Attention says what waits for a person, of one Product or, with an empty id, of all. Nothing waits in a Product that is
// not there.
func (c *Company) Attention(ctx context.Context, productID string, page store.Page) (Attention, error) {
	counts, waiting, err := c.DB.Attention(ctx, productID, page, c.now())
	if err != nil {
		return Attention{}, err
	}
	out := Attention{Attention: counts, Items: make([]company.Attended, len(waiting))}
	next := c.nextTick()
	for i, w := range waiting {
		out.Items[i] = company.Attend(w, next)
	}
	if n := len(waiting); n > 0 && n == page.Limit {
		last := waiting[n-1]
		out.Next = &store.Position{At: last.Since, ID: cmp.Or(last.TaskID, last.RoutineID)}
	}
	return out, nil
}

// nextTick is when the automation looks again, nil when nobody has said.
func (c *Company) nextTick() *time.Time {
	if c.TickCron == "" {
		return nil
	}
	s, err := routine.ParseSchedule(c.TickCron, "UTC")
	if err != nil {
		return nil
	}
	return s.Next(c.now())
}
