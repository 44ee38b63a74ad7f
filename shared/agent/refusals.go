package agent

import (
	"fmt"
	"sync"

	"companyos/shared/wire"
)

// refusalsMost bounds the different refusals that a run lists.
const refusalsMost = 100

// refusals tells each thing that the agent was refused once, and at the end how often the rest happened.
type refusals struct {
	emit func(...wire.Event)

	mu   sync.Mutex
	seen map[string]int
	more int // beyond the list
}

func (r *refusals) add(host, text string, times int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen == nil {
		r.seen = map[string]int{}
	}
	if n := r.seen[text]; n > 0 {
		r.seen[text] += times
		return
	}
	if len(r.seen) >= refusalsMost {
		r.more += times
		return
	}
	r.seen[text] = times
	r.emit(wire.Event{Type: wire.EventRefused, Host: host, Text: text})
}

// close says what was not listed.
func (r *refusals) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	again := 0
	for _, n := range r.seen {
		again += n - 1
	}
	if again+r.more > 0 {
		r.emit(wire.Event{Type: wire.EventRefused, Text: fmt.Sprintf("%d more refusals: %d repeated, %d others", again+r.more, again, r.more)})
	}
}
