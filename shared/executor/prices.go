package executor

import (
	"time"

	"go.yaml.in/yaml/v3"
)

// Price is what a model costs, in US dollars for a million tokens, as its provider published it on Date.
type Price struct {
	Input      float64
	Output     float64
	CacheRead  float64
	CacheWrite float64
	Date       time.Time // UTC midnight
}

// Prices are the prices of models by the name that an executor uses.
type Prices map[string]Price

// ParsePrices reads prices.yaml, the operator's own list. file is its name in problems. The error is Problems.
//
//	models:
//	  some-model: {input: 3, output: 15, cache_read: 0.3, cache_write: 3.75, date: 2026-01-31}
//
// All keys are needed: a price that is not there must not count as 0.
func ParsePrices(data []byte, file string) (Prices, error) {
	r := &reader{file: file}
	prices := Prices{}
	if root := r.document(data); root != nil && !isNull(root) {
		if f, ok := r.mapping(root, "the file", "models"); ok && f.values["models"] != nil && !isNull(f.values["models"]) {
			models, _ := r.mapping(f.values["models"], "models")
			for name, n := range models.values {
				prices[name] = r.price(n, "price of model "+name)
			}
		}
	}
	if err := r.problems.err(); err != nil {
		return nil, err
	}
	return prices, nil
}

func (r *reader) price(n *yaml.Node, what string) (p Price) {
	f, ok := r.mapping(n, what, "input", "output", "cache_read", "cache_write", "date")
	if !ok {
		return p
	}
	for _, amount := range []struct {
		key   string
		value *float64
	}{{"input", &p.Input}, {"output", &p.Output}, {"cache_read", &p.CacheRead}, {"cache_write", &p.CacheWrite}} {
		at := f.values[amount.key]
		if at == nil {
			r.fail(f.at, "add it in US dollars for a million tokens; 0 where the provider charges nothing", "%s has no %s", what, amount.key)
			continue
		}
		*amount.value, _ = r.amount(at, amount.key+" in "+what)
	}
	at := f.values["date"]
	if at == nil {
		r.fail(f.at, "add date: with the day on which the prices were looked up, such as 2026-01-31", "%s has no date", what)
		return p
	}
	date, err := time.Parse(time.DateOnly, at.Value)
	if err != nil {
		r.fail(at, "write year-month-day, such as 2026-01-31", "date in %s is not a date", what)
	}
	p.Date = date
	return p
}
