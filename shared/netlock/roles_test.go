//go:build !attack && linux && (amd64 || arm64)

package netlock

// attackRoles has further roles when ci.sh builds the tests.
func attackRoles() map[string]func() int { return nil }
