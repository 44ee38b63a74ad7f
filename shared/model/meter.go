package model

import (
	"sync"

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

// Count counts one answer.
type Count struct {
	Usage task.Usage // as the provider told it last
	Final bool       // that was its last word

	meter    *Meter
	price    *provider.Price // nil: not known
	streamed int64
	charged  float64
	counted  task.Usage
}

// Begin counts a request that is sent. It fails when the run has used up its budget.
func (m *Meter) Begin(price *executor.Price) (*Count, *EndError) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.budget > 0 && m.cost >= m.budget {
		return nil, m.spent()
	}
	c := &Count{meter: m}
	if price != nil {
		c.price = &provider.Price{Input: price.Input, Output: price.Output, CacheRead: price.CacheRead, CacheWrite: price.CacheWrite}
	}
	return c, nil
}

func (m *Meter) spent() *EndError {
	return &EndError{Kind: task.EndBudgetExhausted, Text: "The budget of the run is used up."}
}

// Charge adds to the run what the answer used since the last time; text is how many bytes of it came. It says when that is too much.
func (c *Count) Charge(text int64) *EndError {
	c.streamed += text
	now := c.Usage
	if !c.Final {
		now.OutputTokens = max(now.OutputTokens, c.streamed/bytesPerToken)
	}
	m := c.meter
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked = true
	m.usage.InputTokens += now.InputTokens - c.counted.InputTokens
	m.usage.OutputTokens += now.OutputTokens - c.counted.OutputTokens
	m.usage.CacheReadTokens += now.CacheReadTokens - c.counted.CacheReadTokens
	m.usage.CacheWriteTokens += now.CacheWriteTokens - c.counted.CacheWriteTokens
	c.counted = now
	if c.price != nil {
		cost := c.price.Of(now)
		m.cost += cost - c.charged
		c.charged = cost
	}
	m.written += text
	switch {
	case m.output > 0 && m.written > m.output:
		return &EndError{Kind: task.EndOutputLimit, Text: "The run wrote more than its output limit."}
	case m.budget > 0 && m.cost >= m.budget && !c.Final:
		return m.spent() // an answer that is whole is kept: it is paid
	}
	return nil
}

// End settles the answer. One that broke off has a cost that nobody knows.
func (c *Count) End(began bool) {
	m := c.meter
	m.mu.Lock()
	defer m.mu.Unlock()
	if began {
		m.asked = true
		m.unknown = m.unknown || c.price == nil || !c.Final
	}
}
