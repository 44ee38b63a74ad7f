// Package checks is where a team registers the acceptance checks of its own: what else has to be true before a proposal is
// accepted without a person, under names that a Routine's policy asks for.
package checks

import "companyos/shared/app"

// Registered are the checks that a policy may name beside the built-in ones. Add yours here; only true passes.
func Registered() map[string]app.Check {
	return map[string]app.Check{}
}
