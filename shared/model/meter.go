package model

import (
	"sync"

	"github.com/anthropics/anthropic-sdk-go"

	"companyos/shared/agent/provider"
	"companyos/shared/executor"
	"companyos/shared/task"
)

// Meter counts what one run uses, whoever of its agents does. While an answer comes, what the provider has not told yet is
// estimated, so that the budget holds in its middle too. A cost of which a part is not known is not known.
type Meter struct {
	budget float64 // US dollars; 0: none
	output int64   // bytes of text that the run's agents may write together; 0: any

	mu      sync.Mutex
	usage   task.Usage
	cost    float64
	written int64
	asked   bool
	unknown bool
}

// NewMeter returns the meter of a run with these limits.
func NewMeter(l executor.Limits) *Meter { return &Meter{budget: l.BudgetUSD, output: l.Output} }

// Usage is what has been used so far, nil when no model was asked.
func (m *Meter) Usage() *task.Usage {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.asked {
		return nil
	}
	u := m.usage
	if !m.unknown {
		cost := m.cost
		u.CostUSD, u.CostKnown = &cost, true
	}
	return &u
}

// bytesPerToken is a cautious guess for text in many languages and code.
const bytesPerToken = 4

// answer counts one answer.
type answer struct {
	meter    *Meter
	price    *provider.Price // nil: not known
	usage    task.Usage
	streamed int64
	final    bool
	charged  float64
	counted  task.Usage
}

// begin counts a request that was sent. It fails when the run has used up its budget.
func (m *Meter) begin(price *executor.Price) (*answer, *EndError) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.budget > 0 && m.cost >= m.budget {
		return nil, m.spent()
	}
	a := &answer{meter: m}
	if price != nil {
		a.price = &provider.Price{Input: price.Input, Output: price.Output, CacheRead: price.CacheRead, CacheWrite: price.CacheWrite}
	}
	return a, nil
}

func (m *Meter) spent() *EndError {
	return &EndError{Kind: task.EndBudgetExhausted, Text: "The budget of the run is used up."}
}

// event counts an event of the answer, and says when it was one too many.
func (a *answer) event(e *anthropic.MessageStreamEventUnion) *EndError {
	text := 0
	switch e.Type {
	case "message_start":
		u := e.Message.Usage
		a.usage = task.Usage{
			InputTokens: u.InputTokens, OutputTokens: u.OutputTokens, CacheReadTokens: u.CacheReadInputTokens, CacheWriteTokens: u.CacheCreationInputTokens,
		}
	case "content_block_delta":
		text = len(e.Delta.Text) + len(e.Delta.PartialJSON) + len(e.Delta.Thinking)
		a.streamed += int64(text)
	case "message_delta":
		a.final = a.told(e)
	}
	return a.charge(int64(text))
}

// told takes the provider's last word; what it does not repeat stands as it was.
func (a *answer) told(e *anthropic.MessageStreamEventUnion) bool {
	u := e.Usage
	for _, field := range []struct {
		told bool
		from int64
		to   *int64
	}{
		{u.JSON.InputTokens.Valid(), u.InputTokens, &a.usage.InputTokens},
		{u.JSON.OutputTokens.Valid(), u.OutputTokens, &a.usage.OutputTokens},
		{u.JSON.CacheReadInputTokens.Valid(), u.CacheReadInputTokens, &a.usage.CacheReadTokens},
		{u.JSON.CacheCreationInputTokens.Valid(), u.CacheCreationInputTokens, &a.usage.CacheWriteTokens},
	} {
		if field.told {
			*field.to = field.from
		}
	}
	return u.JSON.OutputTokens.Valid()
}

// charge adds to the run what the answer used since the last time.
func (a *answer) charge(text int64) *EndError {
	now := a.usage
	if !a.final {
		now.OutputTokens = max(now.OutputTokens, a.streamed/bytesPerToken)
	}
	m := a.meter
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked = true
	m.usage.InputTokens += now.InputTokens - a.counted.InputTokens
	m.usage.OutputTokens += now.OutputTokens - a.counted.OutputTokens
	m.usage.CacheReadTokens += now.CacheReadTokens - a.counted.CacheReadTokens
	m.usage.CacheWriteTokens += now.CacheWriteTokens - a.counted.CacheWriteTokens
	a.counted = now
	if a.price != nil {
		cost := a.price.Of(now)
		m.cost += cost - a.charged
		a.charged = cost
	}
	m.written += text
	switch {
	case m.output > 0 && m.written > m.output:
		return &EndError{Kind: task.EndOutputLimit, Text: "The run wrote more than its output limit."}
	case m.budget > 0 && m.cost >= m.budget && !a.final:
		return m.spent() // an answer that is whole is kept: it is paid
	}
	return nil
}

// end settles the answer. One that broke off has a cost that nobody knows.
func (a *answer) end(began bool) {
	m := a.meter
	m.mu.Lock()
	defer m.mu.Unlock()
	if began {
		m.asked = true
		m.unknown = m.unknown || a.price == nil || !a.final
	}
}
