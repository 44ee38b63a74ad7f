package main

import (
	"path/filepath"
	"testing"
	"time"

	"companyos/infra/price"
)

func (d *deployment) priced(t *testing.T) price.Template {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(d.dir, "*.template.json"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := price.Load(paths...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// What the README says about money. The executors of the example have three secrets of $0.40 each.
func TestWhatItCosts(t *testing.T) {
	t.Parallel()
	for name, most := range map[string]struct{ idle, withoutFreeTier, attempt float64 }{
		"default": {1.37, 5.57, 0.0093},
		"url":     {1.77, 5.97, 0.0112},
		// Three endpoints in two zones.
		"strict": {1.37 + 43.81, 5.57 + 43.81, 0.0093},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := deployed(t, name)
			p := d.priced(t)
			near := func(what string, got, want float64) {
				if got > want || got < want*0.95 {
					t.Errorf("%s costs $%.4f, want about $%.4f", what, got, want)
				}
			}
			near("a month", p.Idle(secrets(d.settings), true).Total(), most.idle)
			near("a month without free tier", p.Idle(secrets(d.settings), false).Total(), most.withoutFreeTier)
			bill, err := p.Attempt(10 * time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			near("an attempt", bill.Total(), most.attempt)
		})
	}
}
