package provider

import "companyos/shared/task"

// Price is what a model costs, in US dollars for a million tokens.
type Price struct {
	Input, Output, CacheRead, CacheWrite float64
}

// Of is what this usage costs, in US dollars.
func (p *Price) Of(u task.Usage) float64 {
	const million = 1e6
	return (float64(u.InputTokens)*p.Input + float64(u.OutputTokens)*p.Output +
		float64(u.CacheReadTokens)*p.CacheRead + float64(u.CacheWriteTokens)*p.CacheWrite) / million
}
