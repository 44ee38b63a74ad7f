package main

import "testing"

// Every deployment passes cdk-nag, and no suppression has outlived what it was for.
func TestNothingIsFound(t *testing.T) {
	t.Parallel()
	for name := range variants {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if d := deployed(t, name); d.findings != nil {
				t.Error(d.findings)
			}
		})
	}
}
